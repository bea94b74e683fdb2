import { existsSync } from 'node:fs'
import { sqliteBounds } from '../../kernel/limits.js'
import { type Connection, connect, makeDurable } from './connection.js'
import { loadDriver } from './driver.js'
import { migrations, schemaVersion } from './migrations/index.js'
import { sqlitePath } from './path.js'
import { applyPending, pendingAfter, refuseNewer, versionOf } from './schema.js'

export interface MigrateSqliteOptions {
  readonly path: string
  /** `preview` says what `apply` would do, and changes nothing. */
  readonly mode?: 'apply' | 'preview'
}

export interface SqliteMigration {
  readonly path: string
  /** The schema that was found; 0 is none. */
  readonly from: number
  readonly to: number
  /** The migrations that were applied, or that would be. */
  readonly migrations: readonly string[]
}

/**
 * Brings the schema of a SQLite file to this release, and creates the file when there is none: what
 * `npx hapax migrate <path>` runs. Any number of processes may do so at once.
 *
 * @example
 * await migrateSqlite({ path: '.data/hapax.db' })
 */
export async function migrateSqlite({ path: given, mode = 'apply' }: MigrateSqliteOptions): Promise<SqliteMigration> {
  const path = sqlitePath(given)
  const missing = mode === 'apply' ? 'create' : 'refuse'
  if (missing === 'refuse' && !existsSync(path))
    return { path, from: 0, to: schemaVersion, migrations: names(migrations) }
  const connection = connect(await loadDriver(), { path, busyTimeoutMs: sqliteBounds.busyTimeoutMs, missing })
  try {
    return { path, to: schemaVersion, ...brought(connection, path, mode) }
  } finally {
    connection.close()
  }
}

function brought(
  connection: Connection,
  path: string,
  mode: 'apply' | 'preview',
): Pick<SqliteMigration, 'from' | 'migrations'> {
  const from = versionOf(connection)
  refuseNewer(from, path)
  if (mode === 'preview') return { from, migrations: names(pendingAfter(from)) }
  makeDurable(connection, sqliteBounds.busyTimeoutMs)
  return { from, migrations: applyPending(connection) }
}

function names(list: typeof migrations): readonly string[] {
  return list.map(({ name }) => name)
}
