import type { Migration } from './migration.js'

/**
 * Who may look at one tenant alone finds its effects without passing by those of others. In the order of bytes the scopes of
 * one tenant stand together. An effect is written once, and so is its place here; that of its state is only written when
 * something is wrong with it.
 */
export const effectsByTenant: Migration = {
  version: 12,
  name: '0012-effects-by-tenant',
  sql: (schema) => [
    `CREATE INDEX effects_scope ON ${schema}.effects (scope_id COLLATE "C", id)`,
    `CREATE INDEX effect_states_tenant ON ${schema}.effect_states (state, scope_id COLLATE "C", effect_id)
  WHERE state IN ('unknown', 'dead')`,
  ],
}
