import type { Clock } from '../kernel/clock.js'
import type { Emitter } from '../kernel/events.js'
import type { BoundedStore } from './bounded-store.js'

/** What the quotas of one engine look at. */
export interface QuotaGround {
  readonly clock: Clock
  readonly store: Pick<BoundedStore, 'usage'>
  readonly events: Emitter
}
