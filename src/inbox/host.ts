import type { InboxStore, Testimony } from '../engine/inbox-store.js'
import type { Clock } from '../kernel/clock.js'
import type { Emitter } from '../kernel/events.js'
import type { Log } from '../kernel/log.js'

/** What an inbox needs of an engine. */
export interface InboxHost<Tx> {
  /**
   * Where events are remembered: opened by whoever asks first, every step within a bound, every failure of the database a
   * HapaxError; what the work threw is thrown on as it is. `undefined` where the store has no transactions.
   */
  readonly inbox: InboxStore<Tx> | undefined
  readonly chores: { testified(testimonies: readonly Testimony[]): Promise<unknown> }
  readonly clock: Clock
  readonly log: Log
  readonly events: Pick<Emitter, 'emit'>
}
