import type { PortCall } from './port-call.js'

/** What may go wrong with a call; `none` is what usually happens. `haste` is about time: it passes while something waits. */
export type Fault =
  | 'none'
  | 'break_before'
  | 'break_after'
  | 'break_meanwhile'
  | 'linger'
  | 'cancel'
  | 'crash_before'
  | 'crash_after'
  | 'crash_meanwhile'
  | 'late_reply'
  | 'overdue_reply'
  | 'freeze'
  | 'stall'
  | 'clock_jump'
  | 'wall_back'
  | 'wall_ahead'
  | 'haste'

/** How often each kind of fault may still happen. */
export interface Budget {
  /** A line breaks: the request or the reply is lost. */
  readonly breaks?: number
  /** A line breaks while the request is on its way, or waits: it happens when whoever sent it has long been told that it was lost. */
  readonly drifts?: number
  /** The server cancels a statement that takes too long, or waits for too long. */
  readonly cancels?: number
  /** A process ends, before, after or while what it asked for happens. */
  readonly crashes?: number
  /** A reply is on its way for as long as it likes, or for longer than a lease, while its process goes on. */
  readonly lateness?: number
  /** A process is stopped for longer than its lease, before or after it has taken in a reply. */
  readonly freezes?: number
  /**
   * The database's clock jumps ahead by more than a lease, or that of a node goes back or ahead. One at most: two that go ahead
   * are a limit, which the page of what can be relied on names.
   */
  readonly jumps?: number
  /** Time passes although something is ready to happen. */
  readonly haste?: number
}

/** A way in which something goes wrong. */
export type Way = Exclude<Fault, 'none'>

const kindOf = {
  break_before: 'breaks',
  break_after: 'breaks',
  break_meanwhile: 'drifts',
  linger: 'drifts',
  cancel: 'cancels',
  crash_before: 'crashes',
  crash_after: 'crashes',
  crash_meanwhile: 'crashes',
  late_reply: 'lateness',
  overdue_reply: 'lateness',
  freeze: 'freezes',
  stall: 'freezes',
  clock_jump: 'jumps',
  wall_back: 'jumps',
  wall_ahead: 'jumps',
  haste: 'haste',
} as const satisfies Readonly<Record<Way, keyof Budget>>

/** Whoever meets one of these is told so at once, and goes on. */
export const timely: ReadonlySet<Fault> = new Set<Fault>([
  'none',
  'break_before',
  'break_after',
  'break_meanwhile',
  'cancel',
])

export interface Faults {
  /** What is left of each kind. */
  readonly left: Readonly<Required<Budget>>
  /** What has been taken of each kind. */
  readonly taken: () => Readonly<Required<Budget>>
  take(fault: Fault): void
  /** Whether anything has gone wrong. */
  areTaken(): boolean
  /** Whether anything may still go wrong. */
  areLeft(): boolean
  /** From here on everything goes well. */
  end(): void
}

/** `takes` is told of each way that is taken. */
export function faultsOf(budget: Budget, takes: (way: Way) => void = nothing): Faults {
  const { breaks = 0, drifts = 0, cancels = 0, crashes = 0, lateness = 0, freezes = 0, jumps = 0, haste = 0 } = budget
  const left = { breaks, drifts, cancels, crashes, lateness, freezes, jumps, haste }
  const taken = { breaks: 0, drifts: 0, cancels: 0, crashes: 0, lateness: 0, freezes: 0, jumps: 0, haste: 0 }
  let areTaken = false
  let sum = breaks + drifts + cancels + crashes + lateness + freezes + jumps + haste
  return {
    left,
    taken: () => taken,
    take(fault) {
      if (fault === 'none') return
      const kind = kindOf[fault]
      left[kind]--
      taken[kind]++
      sum--
      areTaken = true
      takes(fault)
    },
    areTaken: () => areTaken,
    areLeft: () => sum > 0,
    end() {
      sum = 0
      for (const kind of kinds) left[kind] = 0
    },
  }
}

/** Of which a budget says how many there may be. */
export const kinds = [...new Set(Object.values(kindOf))]

function nothing(): void {}

/** The ways in which this call may end, the usual one first. `isFirst`: of those of its process. */
export function faultsFor(call: PortCall<unknown>, faults: Faults, isFirst: boolean): readonly Fault[] {
  if (!faults.areLeft()) return usualWay
  const { process, port, broken, adrift, isTraceless = false, isUnheeded = false } = call
  const { breaks, drifts, cancels, crashes, lateness, freezes, jumps } = faults.left
  const ways: Fault[] = ['none']
  // Of ways that come to the same there is one.
  const mayDrift = adrift !== undefined && !isTraceless
  if (broken !== undefined) {
    if (breaks > 0) ways.push('break_before')
    if (breaks > 0 && !isTraceless && !isUnheeded) ways.push('break_after')
    if (lateness > 0 && !isUnheeded) ways.push('late_reply', 'overdue_reply')
  }
  if (mayDrift && drifts > 0) ways.push('break_meanwhile', 'linger')
  if (cancels > 0 && call.isCancellable?.()) ways.push('cancel')
  if (process.kind === 'node') {
    if (crashes > 0 && isFirst) ways.push('crash_before')
    if (crashes > 0 && !isTraceless) ways.push('crash_after')
    if (crashes > 0 && mayDrift) ways.push('crash_meanwhile')
    if (freezes > 0) ways.push('freeze', 'stall')
    if (jumps > 0) ways.push('wall_back', 'wall_ahead')
  }
  if (jumps > 0 && port === 'store') ways.push('clock_jump')
  return ways
}

const usualWay: readonly Fault[] = ['none']

/** That time passes although something could happen, in words. */
export const haste = 'whatever is under way is slow'

/**
 * What may go wrong with a statement while it waits for a lock. The server goes on waiting whoever has left, and notices when
 * the wait is over. `isFirst`: nothing of its process can happen now, and of what waits there it is the first.
 */
export function faultsWhileWaiting(call: PortCall<unknown>, faults: Faults, isFirst: boolean): readonly Fault[] {
  if (!call.isCancellable?.()) return noWay
  const { breaks, drifts, cancels, crashes } = faults.left
  const ways: Fault[] = []
  if (cancels > 0) ways.push('cancel')
  if (call.adrift === undefined && breaks > 0) ways.push('break_before')
  if (call.adrift !== undefined && drifts > 0) ways.push('break_meanwhile')
  if (crashes > 0 && call.process.kind === 'node') {
    if (isFirst) ways.push('crash_before')
    if (call.adrift !== undefined) ways.push('crash_meanwhile')
  }
  return ways
}

const noWay: readonly Fault[] = []

/** What happened, in words. */
export function words(call: Pick<PortCall<unknown>, 'words' | 'process'>, fault: Fault): string {
  const { name } = call.process
  const usual = call.words()
  switch (fault) {
    case 'none':
      return usual
    case 'break_before':
      return `${usual}: the line breaks before it happens`
    case 'break_after':
      return `${usual}: it happens, and its reply is lost`
    case 'break_meanwhile':
      return `${usual}: the line breaks while it is under way`
    case 'linger':
      return `${usual}: the line breaks, and it is on its way for longer than a lease, or as long as it can be`
    case 'cancel':
      return `${usual}: the server cancels it`
    case 'crash_before':
      return `${usual}: ${name} crashes before it happens`
    case 'crash_after':
      return `${usual}: it happens, and ${name} crashes`
    case 'crash_meanwhile':
      return `${usual}: ${name} crashes while it is under way`
    case 'late_reply':
      return `${usual}: it happens, and its reply is late`
    case 'overdue_reply':
      return `${usual}: it happens, and its reply is late by more than a lease`
    case 'freeze':
      return `${usual}: it happens, and ${name} is stopped for a minute`
    case 'stall':
      return `${usual}: ${name} has its reply, is stopped for a minute, and then hears of it before its timers are due`
    case 'clock_jump':
      return `${usual}: the clock of the database jumps by a minute`
    case 'wall_back':
      return `${usual}: the clock of ${name} goes back by ten minutes`
    case 'wall_ahead':
      return `${usual}: the clock of ${name} goes ahead by ten minutes`
    case 'haste':
      return haste
  }
}
