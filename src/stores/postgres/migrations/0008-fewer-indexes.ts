import type { Migration } from './migration.js'

/**
 * Whether a record has effects that are not final is asked once, by the reaper, and this index was written each time that one
 * of them was claimed: `effects` knows them by their record, too.
 */
export const fewerIndexes: Migration = {
  version: 8,
  name: '0008-fewer-indexes',
  sql: (schema) => [`DROP INDEX ${schema}.effect_states_open`],
}
