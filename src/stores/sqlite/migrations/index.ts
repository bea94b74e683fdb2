import { records } from './0001-records.js'
import { work } from './0002-work.js'
import { reaping } from './0003-reaping.js'
import { turns } from './0004-turns.js'
import type { Migration } from './migration.js'

/** Every migration, in order and without gaps. */
export const migrations: readonly Migration[] = [records, work, reaping, turns]

/** The schema that this release reads and writes. */
export const schemaVersion = migrations.length
