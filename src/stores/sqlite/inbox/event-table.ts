import type { ReceivedEvent } from '../../../engine/inbox-store.js'
import type { Connection } from '../connection.js'

/** The events of providers that were processed. */
export interface EventTable {
  /** `false` when it is known. */
  insert(event: ReceivedEvent, now: number): boolean
  /** Forgets up to `limit` that were processed by then. */
  removeOld(until: number, limit: number): number
}

const insert = `INSERT INTO hapax_webhook_events (provider, event_id, processed_at) VALUES (?, ?, ?)
  ON CONFLICT (provider, event_id) DO NOTHING RETURNING 1 AS inserted`

const removeOld = `DELETE FROM hapax_webhook_events WHERE rowid IN (
    SELECT rowid FROM hapax_webhook_events WHERE processed_at <= ? ORDER BY processed_at LIMIT ?) RETURNING 1 AS gone`

export function eventTable(connection: Connection): EventTable {
  const inserting = connection.prepare(insert)
  const removing = connection.prepare(removeOld)
  return {
    insert: ({ provider, eventId }, now) => inserting.get([provider, eventId, now]) !== undefined,
    removeOld: (until, limit) => removing.all([until, limit]).length,
  }
}
