import { isPromise } from './awaitable.js'
import type { Log } from './log.js'
import type { PersonalShape } from './personal.js'

/** Whom an event is about. The key itself is in no event: `record` is a digest of scope and key. */
export interface Subject {
  readonly scope: string
  readonly record: string
  readonly operation: string
}

/** Which effect an event is about. Neither its payload nor the key that its provider is sent is in any event. */
export interface EffectSubject {
  readonly scope: string
  readonly operation: string
  readonly phase: string
  readonly kind: string
  readonly effect: number
}

/** Everything that Hapax tells. Metrics, traces, logs and the console are made from these and nothing else. */
export interface Events {
  /** A key was taken for the first time, or for the first time after it expired: its handler starts. */
  reserved: Subject & { readonly generation: number; readonly fence: number }
  /** A key went on from what an earlier attempt left behind, by a retry or by a worker: its handler starts again. */
  resumed: Subject & {
    readonly attempt: number
    readonly fence: number
    readonly recoveryPoint: string
    readonly by: 'request' | 'worker'
  }
  /** An expired key was used anew: the retry may have come too late. */
  reused_after_expiry: Subject & { readonly generation: number }
  /** A stored answer was given again: the store was asked for it, or it was at hand. */
  replayed: Subject & { readonly from: 'store' | 'cache' }
  /** A duplicate in the same process was given the result of the one that ran. */
  shared: Subject
  /** A key came with another request than its first: a client's bug, or somebody trying. */
  mismatched: Subject
  /** A body had no canonical form and was compared byte by byte: a retry that spells it otherwise will not match. */
  compared_as_bytes: { readonly operation: string; readonly reason: string }
  /** A duplicate met a request that still runs. */
  met_in_progress: Subject & { readonly reply: 'refused' | 'accepted' | 'waits' }
  /** A retry met an outcome that nobody knows; nothing ran. */
  met_unknown: Subject
  /** An expired key was refused, as its policy says. */
  refused_expired: Subject & { readonly generation: number }
  /** An answer became durable. */
  completed: Subject & { readonly status: number; readonly bytes: number; readonly runMs: number }
  /** An answer became durable only after its caller had been told that it was not. */
  completed_late: Subject
  /** An answer was over the size limit: that it was given is stored, the answer is not. */
  withheld: Subject & { readonly bytes: number }
  /** A handler failed in a way that lets the next request run again. */
  failed: Subject & { readonly errorCode: string }
  /** A phase of a handler has committed; what it did is not done again. */
  phase_committed: Subject & { readonly phase: string }
  /** A call to the outside has given its result, which is durable. */
  call_landed: Subject & { readonly phase: string }
  /** A call to the outside has failed. What that means is told by how its request ends. */
  call_failed: Subject & { readonly phase: string; readonly errorCode: string }
  /** Effects have committed with a phase, and wait for a worker. */
  effects_written: Subject & { readonly count: number }
  /** Nobody can know whether a handler took effect. */
  doubted: Subject & { readonly errorCode: string }
  /** A claim that nobody renewed was found, and may not run again: it is in doubt from here on. */
  swept: Subject
  /** Evidence has ended a doubt. */
  settled: Subject & { readonly says: 'landed' | 'not_landed' | 'completed'; readonly by: string }
  /** A doubt was looked at in vain. */
  looked_in_vain: Subject & { readonly looks: number; readonly errorCode: string }
  /** Nobody but a person can go on with this one: it is in the operator's queue. */
  left_to_operator: Subject & { readonly errorCode: string }
  /** Records past their retention were buried, and tombstones that had stood their time were deleted. */
  reaped: { readonly buried: number; readonly deleted: number }
  /** The ledger of a provider was compared with ours: how many of ours were judged, and how many of each kind differ. */
  ledger_compared: {
    readonly provider: string
    readonly compared: number
    readonly orphans: number
    readonly missing: number
    readonly open: number
    readonly contradicted: number
    readonly unconfirmed: number
    readonly doubled: number
  }
  /** A worker has made a pass; `did` counts what it did, `paused` names whose providers did not answer and are left alone. */
  worker_passed: {
    readonly worker: string
    readonly did: Readonly<Record<string, number>>
    readonly paused?: readonly { readonly of: string; readonly forMs: number }[]
    readonly tookMs: number
  }
  /** A worker failed at what it does; it goes on after a pause. */
  worker_failed: { readonly worker: string; readonly errorCode: string }
  /** A reservation was taken back, because nothing had run. */
  released: Subject
  /** A holder lost its claim while its handler ran, or could not renew it in time. */
  claim_lost: Subject & { readonly fence: number }
  /** A handler ran longer than its policy allows; it is no longer waited for. */
  overran: Subject
  /** A key that is new was not let in: its tenant's quota is used up, or the request is too old. */
  turned_away: Subject & { readonly errorCode: string }
  /** A stored answer was not given: it was asked for too often, or the caller may not see it any more. */
  replay_refused: Subject & { readonly errorCode: string }
  /** A key that is new looks like personal data: tell the client that sends them. */
  key_looks_personal: Subject & { readonly shape: PersonalShape }
  /** A key that is new was hardly made at random: somebody may guess it, or its client sends it with everything. */
  key_looks_guessable: Subject
  /** A request was refused because the store did not say whether it may run. Nothing ran. */
  reservation_failed: Subject & { readonly errorCode: string }
  /** The store failed so often that it is left alone for a while: requests are refused at once. */
  circuit_opened: { readonly failures: number; readonly openMs: number }
  /** The store answers again. */
  circuit_closed: Record<never, never>
  /** A step of the store was answered, and how long that took. */
  store_answered: { readonly step: string; readonly tookMs: number }
  /** A step of the store failed or was too slow. */
  store_failed: { readonly step: string; readonly errorCode: string; readonly cause: unknown }
  /** The database was opened, and something about it is worth an operator's look: see `hapax doctor`. */
  store_warned: { readonly check: string; readonly says: string }
  /** An event of a provider came for the first time, and what it asked for is committed. */
  webhook_received: { readonly provider: string }
  /** A provider delivered an event that had been processed before; nothing ran. */
  webhook_duplicate: { readonly provider: string }
  /** A delivery was not taken: it was not signed, not readable, or could not be processed. */
  webhook_refused: { readonly provider: string; readonly errorCode: string }
  /** A handler ran without protection, because its policy fails open. */
  ran_unprotected: Subject
  /** An effect was carried out, and what follows from it is durable. */
  effect_done: EffectSubject & { readonly attempt: number }
  /** An attempt at an effect failed; it will be tried again. */
  effect_retried: EffectSubject & { readonly attempt: number; readonly errorCode: string; readonly dueInMs: number }
  /** An effect is not tried again until a person says so. */
  effect_dead: EffectSubject & { readonly attempt: number; readonly errorCode: string }
  /** Nobody can know whether an effect took place. */
  effect_doubted: EffectSubject & { readonly errorCode: string }
  /** A worker lost its claim on an effect; what it had to say was not written. */
  effect_lost: EffectSubject & { readonly fence: number }
  /** Evidence ended the doubt about an effect. */
  effect_reconciled: EffectSubject & { readonly says: 'landed' | 'not_landed'; readonly by: string }
  /** Nobody could say whether an effect took place, or there is nobody to ask: a person must find out. */
  effect_unresolved: EffectSubject & { readonly looks: number }
  /** A person had a dead effect carried out again. */
  effect_redriven: EffectSubject
  /** A person ended a dead effect for good. */
  effect_discarded: EffectSubject & { readonly why: string }
}

export type EventName = keyof Events

/** The same names at run time, for whoever wants to hear all of them. The compiler sees that none is missing. */
const named: Readonly<Record<EventName, true>> = {
  reserved: true,
  resumed: true,
  reused_after_expiry: true,
  replayed: true,
  shared: true,
  mismatched: true,
  compared_as_bytes: true,
  met_in_progress: true,
  met_unknown: true,
  refused_expired: true,
  completed: true,
  completed_late: true,
  withheld: true,
  failed: true,
  phase_committed: true,
  call_landed: true,
  call_failed: true,
  effects_written: true,
  doubted: true,
  swept: true,
  settled: true,
  looked_in_vain: true,
  left_to_operator: true,
  reaped: true,
  ledger_compared: true,
  worker_passed: true,
  worker_failed: true,
  released: true,
  claim_lost: true,
  overran: true,
  turned_away: true,
  replay_refused: true,
  key_looks_personal: true,
  key_looks_guessable: true,
  reservation_failed: true,
  circuit_opened: true,
  circuit_closed: true,
  store_answered: true,
  store_failed: true,
  store_warned: true,
  webhook_received: true,
  webhook_duplicate: true,
  webhook_refused: true,
  ran_unprotected: true,
  effect_done: true,
  effect_retried: true,
  effect_dead: true,
  effect_doubted: true,
  effect_lost: true,
  effect_reconciled: true,
  effect_unresolved: true,
  effect_redriven: true,
  effect_discarded: true,
}

export const eventNames = Object.keys(named) as readonly EventName[]

export type Listener<Name extends EventName> = (event: Events[Name]) => unknown

/** An event as those hear it who count: without the digest of its record, which takes longer to make than all the rest. */
export type Tallied<Name extends EventName> = Omit<Events[Name], 'record'>

/** What is built of an event: all of it, or only what those need who count. */
export type Detail = 'whole' | 'tallied'

export interface Emitter {
  /** Hears every event of this name; the function returned stops it. */
  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void
  /** The same for who only counts, and does so at once. Requests wait for it. */
  tally<Name extends EventName>(name: Name, listener: (event: Tallied<Name>) => void): () => void
  /** Whether somebody listens: what is only looked at to be told need not be looked at otherwise. */
  hears(name: EventName): boolean
  /** `event` is built only if somebody listens, and whole only if somebody wants to know which record it is about. */
  emit<Name extends EventName>(name: Name, event: (detail: Detail) => Events[Name]): void
}

/** A listener that throws, or whose promise rejects, is reported and never disturbs a request. */
export function emitter(log: Log): Emitter {
  const listeners = new Map<EventName, Readonly<Record<Detail, readonly AnyListener[]>>>()

  function add(name: EventName, detail: Detail, listener: AnyListener): () => void {
    const { whole, tallied } = listeners.get(name) ?? nobody
    const theirs = detail === 'whole' ? whole : tallied
    if (!theirs.includes(listener)) listeners.set(name, { whole, tallied, [detail]: [...theirs, listener] })
    return () => remove(name, detail, listener)
  }

  function remove(name: EventName, detail: Detail, listener: AnyListener): void {
    const heard = listeners.get(name) ?? nobody
    const left = { ...heard, [detail]: heard[detail].filter((one) => one !== listener) }
    if (left.whole.length + left.tallied.length > 0) listeners.set(name, left)
    else listeners.delete(name)
  }

  function call(name: EventName, listener: AnyListener, event: unknown): void {
    try {
      const came = listener(event)
      if (isPromise(came)) void came.then(undefined, (error: unknown) => report(name, error))
    } catch (error) {
      report(name, error)
    }
  }

  function report(name: EventName, error: unknown): void {
    const why = error instanceof Error ? error.name : 'something that is no error'
    log({ level: 'error', code: 'listener_failed', message: `a listener to "${name}" threw ${why}.` })
  }

  return {
    on: (name, listener) => add(name, 'whole', listener as AnyListener),
    tally: (name, listener) => add(name, 'tallied', listener as AnyListener),
    hears: (name) => listeners.has(name),
    emit(name, event) {
      const heard = listeners.get(name)
      if (heard === undefined) return
      const { whole, tallied } = heard
      const built = event(whole.length > 0 ? 'whole' : 'tallied')
      for (const listener of tallied) call(name, listener, built)
      for (const listener of whole) call(name, listener, built)
    },
  }
}

type AnyListener = (event: unknown) => unknown

const nobody: Readonly<Record<Detail, readonly AnyListener[]>> = { whole: [], tallied: [] }
