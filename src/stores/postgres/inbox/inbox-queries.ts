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
    /**
     * By where the rows lie: many times quicker than by their names. They are not locked first, which would take the right
     * to update them; two who forget the same ones at once wait for each other, and nobody else does.
     */
    reap: {
      text: `DELETE FROM ${schema}.webhook_events WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${schema}.webhook_events WHERE processed_at <= ${schema}.clock() - $2::bigint * interval '1 millisecond'
        ORDER BY processed_at LIMIT $1)) RETURNING 1`,
      gives: ['done'],
      plan: 'fresh',
    },
    usualPatience: { text: 'SET LOCAL lock_timeout TO DEFAULT', gives: [] },
  } as const satisfies Record<string, Query>
}
