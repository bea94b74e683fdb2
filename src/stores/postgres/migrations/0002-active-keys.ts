import type { Migration } from './migration.js'

/**
 * What a tenant's quota counts. In the order of bytes, whatever the collation of the database: in a linguistic order,
 * which skips punctuation, the scopes of one tenant do not stand together. Tombstones are left out, since they are kept
 * far longer than answers and would be most of what is walked.
 */
export const activeKeys: Migration = {
  version: 2,
  name: '0002-active-keys',
  sql: (schema) => [
    `CREATE INDEX records_active ON ${schema}.records (scope_id COLLATE "C") WHERE status <> 'expired'`,
  ],
}
