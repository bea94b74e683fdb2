import type { Migration } from './migration.js'

/** What hangs on a record goes with it. See the migration 6 of PostgreSQL, which says why. */
export const reaping: Migration = {
  version: 3,
  name: '0003-reaping',
  sql: `
CREATE INDEX hapax_calls_record ON hapax_calls (record_id);
CREATE INDEX hapax_calls_begun ON hapax_calls (begun_at, id);

ALTER TABLE hapax_testimonies ADD COLUMN is_known INTEGER NOT NULL DEFAULT 0;
CREATE INDEX hapax_testimonies_said ON hapax_testimonies (said_at) WHERE is_known = 0;

DELETE FROM hapax_calls WHERE record_id NOT IN (SELECT id FROM hapax_records);
DELETE FROM hapax_effects WHERE record_id NOT IN (SELECT id FROM hapax_records)
  AND id NOT IN (SELECT effect_id FROM hapax_effect_states WHERE state NOT IN ('done', 'discarded'));
DELETE FROM hapax_effect_states WHERE effect_id NOT IN (SELECT id FROM hapax_effects);
`,
}
