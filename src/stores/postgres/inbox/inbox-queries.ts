import type { Query } from '../connections.js'

/** Where every event of a provider is known by its name. */
export type InboxQueries = ReturnType<typeof inboxQueriesFor>

export function inboxQueriesFor(schema: string) {
  return {
    /** Waits for another delivery of the same event that is under way. No row when it is known. */
    insert: {
      text: `INSERT INTO ${schema}.webhook_events (provider, event_id, processed_at) VALUES ($1, $2, ${schema}.clock())
      ON CONFLICT (provider, event_id) DO NOTHING RETURNING 1`,
      gives: ['done'],
    },
    /** The server gives up before this side does, so that whoever waited in vain knows that nothing happened. */
    patience: { text: `SELECT set_config('lock_timeout', $1, true)`, gives: ['done'] },
    usualPatience: { text: 'SET LOCAL lock_timeout TO DEFAULT', gives: [] },
  } as const satisfies Record<string, Query>
}
