import type { Migration } from './migration.js'

/**
 * The trace of the run that made an answer, or left a doubt: a W3C `traceparent`, or nothing where nobody traces. And an index
 * of doubts by their age, which gauges ask for: along any other, a planner that sees many of them would read the whole table.
 */
export const traces: Migration = {
  version: 9,
  name: '0009-traces',
  sql: (schema) => [
    `ALTER TABLE ${schema}.records ADD COLUMN traceparent text`,
    `CREATE INDEX records_unknown ON ${schema}.records (doubted_at) WHERE status = 'unknown'`,
  ],
}
