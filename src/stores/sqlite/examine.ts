import type { Finding } from '../../engine/finding.js'
import { isHapaxError } from '../../kernel/errors.js'
import { sqliteBounds } from '../../kernel/limits.js'
import { type Connection, connect } from './connection.js'
import { loadDriver } from './driver.js'
import { schemaVersion } from './migrations/index.js'
import { sqlitePath } from './path.js'
import { refuseOther, versionOf } from './schema.js'

/**
 * Looks at a SQLite file for whatever a promise depends on, and writes nothing. Reads all of it to find damage, which
 * takes as long as the disk does: for `hapax doctor`, not for a process that serves.
 */
export async function examineSqlite({ path: given }: { readonly path: string }): Promise<readonly Finding[]> {
  const path = sqlitePath(given)
  const openDriver = await loadDriver()
  let connection: Connection | undefined
  const open = () => {
    connection = connect(openDriver, { path, busyTimeoutMs: sqliteBounds.busyTimeoutMs, missing: 'refuse' })
    // The first statement that reads: connecting alone does not tell a database from a letter.
    return versionOf(connection)
  }
  try {
    const file = looked('file', () => void open(), there(path))
    if (connection === undefined || file.level === 'broken') return [file]
    return [file, ...inside(connection, path), damage(connection)]
  } finally {
    connection?.close()
  }
}

/** The same in a moment, for a process that serves, on the connection that it has: all but the damage. */
export function glance(connection: Connection, path: string): readonly Finding[] {
  return [{ check: 'file', level: 'ok', says: there(path) }, ...inside(connection, path)]
}

function inside(connection: Connection, path: string): readonly Finding[] {
  return [
    looked('schema', () => refuseOther(versionOf(connection), path), `version ${schemaVersion}`),
    journal(pragma(connection, 'journal_mode')),
  ]
}

function there(path: string): string {
  return `${path} is there, to read and to write`
}

function pragma(connection: Connection, name: string): string {
  return String(Object.values(connection.prepare<object>(`PRAGMA ${name}`).get([]) ?? {})[0])
}

/** How durable a commit is, each connection says for itself: the store says FULL, whatever the file was used with. */
function journal(mode: string): Finding {
  if (mode === 'wal') return { check: 'journal', level: 'ok', says: 'writes ahead; the store syncs every commit' }
  const says = `"${mode}", which the store changes to "wal" when it opens. Put the file on a local disk, or it cannot.`
  return { check: 'journal', level: 'warning', says }
}

function damage(connection: Connection): Finding {
  const said = pragma(connection, 'quick_check(1)')
  if (said === 'ok') return { check: 'damage', level: 'ok', says: 'none found in the whole file' }
  return {
    check: 'damage',
    level: 'broken',
    code: 'store_failed',
    says: `The file is damaged. Restore it from a backup. (${said})`,
  }
}

function looked(check: string, look: () => void, says: string): Finding {
  try {
    look()
    return { check, level: 'ok', says }
  } catch (error) {
    if (!isHapaxError(error)) throw error
    return { check, level: 'broken', code: error.code, says: error.message }
  }
}
