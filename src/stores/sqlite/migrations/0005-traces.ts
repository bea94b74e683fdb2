import type { Migration } from './migration.js'

/**
 * The trace of the run that made an answer, or left a doubt; empty where nobody traces. And an index of doubts by
 * their age, so that they can be counted without reading the table: what waits for a person is in no other index here.
 */
export const traces: Migration = {
  version: 5,
  name: '0005-traces',
  sql: `
ALTER TABLE hapax_records ADD COLUMN traceparent TEXT CHECK (length(traceparent) <= 55);

CREATE INDEX hapax_records_unknown ON hapax_records (doubted_at) WHERE status = 'unknown';
`,
}
