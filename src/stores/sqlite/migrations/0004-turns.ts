import type { Migration } from './migration.js'

/** Whose turn it is in an order. See the migration 6 of PostgreSQL, which says why. */
export const turns: Migration = {
  version: 4,
  name: '0004-turns',
  sql: `
ALTER TABLE hapax_effect_states ADD COLUMN is_next INTEGER NOT NULL DEFAULT 1;

UPDATE hapax_effect_states SET is_next = 0 WHERE ordering IS NOT NULL AND state NOT IN ('done', 'discarded')
  AND EXISTS (SELECT 1 FROM hapax_effect_states o WHERE o.ordering = hapax_effect_states.ordering
    AND o.effect_id < hapax_effect_states.effect_id AND o.state NOT IN ('done', 'discarded'));

DROP INDEX hapax_effect_states_ready;
CREATE INDEX hapax_effect_states_ready ON hapax_effect_states (due_at, effect_id) WHERE state = 'ready' AND is_next = 1;
CREATE INDEX hapax_effect_states_waiting ON hapax_effect_states (ordering, effect_id) WHERE is_next = 0;
`,
}
