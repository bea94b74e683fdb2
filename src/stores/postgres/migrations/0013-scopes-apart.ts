import type { Migration } from './migration.js'

/**
 * Scopes stood in two indexes: one of all records, for lists, and one of those that are no tombstones, for quotas. Every request
 * wrote both of them twice. Now a record stands in one or the other, and whoever wants all of a tenant walks both.
 */
export const scopesApart: Migration = {
  version: 13,
  name: '0013-scopes-apart',
  sql: (schema) => [
    `CREATE INDEX records_live ON ${schema}.records (scope_id COLLATE "C", id) WHERE status <> 'expired'`,
    `CREATE INDEX records_buried ON ${schema}.records (scope_id COLLATE "C", id) WHERE status = 'expired'`,
    `DROP INDEX ${schema}.records_scope`,
    `DROP INDEX ${schema}.records_active`,
  ],
}
