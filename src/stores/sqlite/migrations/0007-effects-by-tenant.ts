import type { Migration } from './migration.js'

/** The effects of one tenant. See the migration 12 of PostgreSQL, which says why. */
export const effectsByTenant: Migration = {
  version: 7,
  name: '0007-effects-by-tenant',
  sql: `
CREATE INDEX hapax_effects_scope ON hapax_effects (scope_id, id);
`,
}
