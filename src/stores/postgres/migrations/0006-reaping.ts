import type { Migration } from './migration.js'

/**
 * What hangs on a record goes with it, so that it is found by it. Of what was said about something that nobody knows the
 * oldest is looked at first; `is_known` takes out of that index what turned out to be about something that is here. Calls are
 * compared with the ledgers of providers by when they began.
 *
 * Rows that records left behind before this are deleted: their downstream keys were in the way of whoever used a key anew.
 */
export const reaping: Migration = {
  version: 6,
  name: '0006-reaping',
  sql: (schema) => [
    `CREATE INDEX calls_record ON ${schema}.calls (record_id)`,
    `CREATE INDEX calls_begun ON ${schema}.calls (begun_at, id)`,
    `ALTER TABLE ${schema}.testimonies ADD COLUMN is_known smallint NOT NULL DEFAULT 0`,
    `CREATE INDEX testimonies_said ON ${schema}.testimonies (said_at) WHERE is_known = 0`,
    `DELETE FROM ${schema}.calls c WHERE NOT EXISTS (SELECT FROM ${schema}.records r WHERE r.id = c.record_id)`,
    `WITH gone AS (DELETE FROM ${schema}.effect_states s WHERE state IN ('done', 'discarded')
    AND NOT EXISTS (SELECT FROM ${schema}.records r WHERE r.id = s.record_id) RETURNING effect_id)
  DELETE FROM ${schema}.effects e USING gone WHERE e.id = gone.effect_id`,
  ],
}
