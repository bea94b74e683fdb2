import type { Migration } from './migration.js'

/** Every event of a provider that was processed, so that it is processed once. */
export const inbox: Migration = {
  version: 5,
  name: '0005-inbox',
  sql: (schema) => [
    `CREATE TABLE ${schema}.webhook_events (
  provider text NOT NULL,
  event_id text NOT NULL,
  processed_at timestamptz NOT NULL,
  PRIMARY KEY (provider, event_id)
)`,
    `CREATE INDEX webhook_events_processed ON ${schema}.webhook_events (processed_at)`,
  ],
}
