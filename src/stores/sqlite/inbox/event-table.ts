import type { ReceivedEvent } from '../../../engine/inbox-store.js'
import type { Connection } from '../connection.js'

/** The events of providers that were processed. */
export interface EventTable {
  /** `false` when it is known. */
  insert(event: ReceivedEvent, now: number): boolean
}

const insert = `INSERT INTO hapax_webhook_events (provider, event_id, processed_at) VALUES (?, ?, ?)
  ON CONFLICT (provider, event_id) DO NOTHING RETURNING 1 AS inserted`

export function eventTable(connection: Connection): EventTable {
  const statement = connection.prepare(insert)
  return { insert: ({ provider, eventId }, now) => statement.get([provider, eventId, now]) !== undefined }
}
