import type { Migration } from './migration.js'

/**
 * Whose turn it is. An effect behind another of its order is not next: it stands in no index that workers read, however many
 * there are. What is next stays so, since nobody is ever written before it, and what is final stays final.
 */
export const turns: Migration = {
  version: 7,
  name: '0007-turns',
  sql: (schema) => [
    `ALTER TABLE ${schema}.effect_states ADD COLUMN is_next smallint NOT NULL DEFAULT 1`,
    `UPDATE ${schema}.effect_states s SET is_next = 0 WHERE ordering IS NOT NULL AND state NOT IN ('done', 'discarded')
  AND EXISTS (SELECT FROM ${schema}.effect_states o WHERE o.ordering = s.ordering AND o.effect_id < s.effect_id
    AND o.state NOT IN ('done', 'discarded'))`,
    `DROP INDEX ${schema}.effect_states_live`,
    `CREATE INDEX effect_states_live ON ${schema}.effect_states ((coalesce(leased_until, due_at)), effect_id)
  WHERE state IN ('ready', 'leased') AND on_lease_over = 'resume' AND is_next = 1`,
    `CREATE INDEX effect_states_waiting ON ${schema}.effect_states (ordering, effect_id) WHERE is_next = 0`,
  ],
}
