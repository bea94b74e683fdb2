import type { Chance } from '../kernel/chance.js'
import type { Clock } from '../kernel/clock.js'
import type { Detail, Emitter, Subject } from '../kernel/events.js'
import type { Log } from '../kernel/log.js'
import type { Tracing } from '../kernel/tracing.js'
import type { Abandoned } from './abandoned.js'
import type { Background } from './background.js'
import type { BoundedStore } from './bounded-store.js'
import type { Breaker } from './breaker.js'
import { digestHex } from './digest.js'
import type { Effects } from './effect-definition.js'
import type { Flights } from './flights.js'
import type { Guarded } from './guarded.js'
import type { KeptReplays } from './kept-replays.js'
import type { Limiter } from './limiter.js'
import type { Opening } from './opening.js'
import type { Operations } from './operation.js'
import type { ProgressCodec } from './progress.js'
import type { Pulse } from './pulse.js'
import type { Quotas } from './quotas.js'
import type { Store } from './store.js'

/** What all requests of one engine share. */
export interface Context<Tx> {
  readonly clock: Clock
  readonly chance: Chance
  readonly log: Log
  readonly events: Emitter
  /** What requests wait on: every step bounded, every failure a HapaxError. */
  readonly store: BoundedStore
  /** The store as it was given: only for transactions, which bound themselves. */
  readonly wholeStore: Store<Tx>
  readonly storeTimeoutMs: number
  readonly opening: Opening
  readonly abandoned: Abandoned
  readonly background: Background
  readonly flights: Flights
  /** Answers that need not be asked for; `undefined` when all of them are. */
  readonly cache: KeptReplays | undefined
  readonly pulse: Pulse
  readonly breaker: Breaker
  /** `undefined` when nothing is traced. */
  readonly tracing: Tracing | undefined
  /** How the progress of handlers is written down. */
  readonly progress: ProgressCodec
  /** `undefined` when the application has none. */
  readonly effects: Effects<unknown, Tx> | undefined
  /** The operations that were defined, by name. */
  readonly operations: Operations<Tx>
  /** `undefined` when nobody has a quota. */
  readonly quotas: Quotas | undefined
  /** `undefined` when an answer may be asked for as often as one likes. */
  readonly replays: Limiter | undefined
}

/** Whom an event is about, with the key as a digest, or without it for those who only count. */
export function subjectOf<Tx>({ scope, key, policy }: Guarded<Tx>, detail: Detail = 'whole'): Subject {
  return { scope, record: detail === 'whole' ? digestHex({ scope, key }) : '', operation: policy.name }
}
