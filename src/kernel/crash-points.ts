/**
 * The places between two durable steps at which a crash would hurt most, by name. Passing one costs a comparison; only
 * the crash tests listen, in a process of their own, and end it there with SIGKILL. A name that no such test kills at
 * fails their run.
 */
export const crashPoints = [
  /** Several keys were reserved by one statement; nobody was told. Where a store has group commit. */
  'batch.reserved',
  /** Several answers were stored by one statement; nobody was told. */
  'batch.completed',
  /** A phase that writes rows is open, and nothing of it has committed. */
  'phase.open',
  /** A phase has committed, and its handler does not know yet. */
  'phase.committed',
  /** That a call begins is durable; nothing has been sent. */
  'call.begun',
  /** The provider has answered; nothing of it is durable. */
  'call.answered',
  /** The result of a call is durable, and its handler does not know yet. */
  'call.recorded',
  /** The last phase has written its rows, and has not committed. */
  'commit.open',
  /** Rows, effects and answer have committed; nobody was told. */
  'commit.committed',
  /** The one transaction of a request has taken its key. */
  'single.taken',
  /** The one transaction of a request has its rows and its answer, and has not committed. */
  'single.written',
  /** The one transaction of a request has committed; nobody was told. */
  'single.committed',
  /** An effect is leased; its call has not begun. */
  'effect.leased',
  /** That the call of an effect begins is durable; nothing has been sent. */
  'effect.begun',
  /** The provider has carried an effect out; nothing of it is durable. */
  'effect.answered',
  /** What the provider answered is durable; what follows from it is not. */
  'effect.recorded',
  /** What follows from an effect is written, and has not committed. */
  'effect.applying',
  /** An effect is settled. */
  'effect.settled',
  /** The provider was asked about a doubt; the evidence is not durable. */
  'reconciler.asked',
  /** A doubt is settled, and nothing has gone on from there. */
  'reconciler.settled',
  /** A webhook's event is inserted, and its work has not committed. */
  'inbox.inserted',
  /** A webhook's event and its work have committed; the provider was not told. */
  'inbox.committed',
] as const

export type CrashPoint = (typeof crashPoints)[number]

let listener: ((point: CrashPoint) => void) | undefined

/** Says that a crash point is passed. */
export function passing(point: CrashPoint): void {
  listener?.(point)
}

/** For the crash tests alone. */
export function onCrashPoint(listen: (point: CrashPoint) => void): void {
  listener = listen
}
