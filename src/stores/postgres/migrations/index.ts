import { records } from './0001-records.js'
import { activeKeys } from './0002-active-keys.js'
import { work } from './0003-work.js'
import { effects } from './0004-effects.js'
import { inbox } from './0005-inbox.js'
import { reaping } from './0006-reaping.js'
import { turns } from './0007-turns.js'
import { fewerIndexes } from './0008-fewer-indexes.js'
import { traces } from './0009-traces.js'
import { audit } from './0010-audit.js'
import { quickerStatements } from './0011-quicker-statements.js'
import { effectsByTenant } from './0012-effects-by-tenant.js'
import { scopesApart } from './0013-scopes-apart.js'
import { unfinished } from './0014-unfinished.js'
import type { Migration } from './migration.js'

/** Every migration, in order and without gaps. */
export const migrations: readonly Migration[] = [
  records,
  activeKeys,
  work,
  effects,
  inbox,
  reaping,
  turns,
  fewerIndexes,
  traces,
  audit,
  quickerStatements,
  effectsByTenant,
  scopesApart,
  unfinished,
]

/** The schema that this release reads and writes. */
export const schemaVersion = migrations.length
