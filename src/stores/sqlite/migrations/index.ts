import { records } from './0001-records.js'
import { work } from './0002-work.js'
import { reaping } from './0003-reaping.js'
import { turns } from './0004-turns.js'
import { traces } from './0005-traces.js'
import { audit } from './0006-audit.js'
import { effectsByTenant } from './0007-effects-by-tenant.js'
import { unfinished } from './0008-unfinished.js'
import type { Migration } from './migration.js'

/** Every migration, in order and without gaps. */
export const migrations: readonly Migration[] = [
  records,
  work,
  reaping,
  turns,
  traces,
  audit,
  effectsByTenant,
  unfinished,
]

/** The schema that this release reads and writes. */
export const schemaVersion = migrations.length
