import { records } from './0001-records.js'
import { activeKeys } from './0002-active-keys.js'
import type { Migration } from './migration.js'

/** Every migration, in order and without gaps. */
export const migrations: readonly Migration[] = [records, activeKeys]

/** The schema that this release reads and writes. */
export const schemaVersion = migrations.length
