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
    const file = looked('file', () => void open(), `${path} is there, to read and to write`)
    return connection === undefined || file.level === 'broken' ? [file] : [file, ...inside(connection, path)]
  } finally {
    connection?.close()
  }
}

function inside(connection: Connection, path: string): readonly Finding[] {
  const read = (pragma: string) => Object.values(connection.prepare<object>(`PRAGMA ${pragma}`).get([]) ?? {})[0]
  return [
    looked('schema', () => refuseOther(versionOf(connection), path), `version ${schemaVersion}`),
    journal(String(read('journal_mode'))),
    damage(String(read('quick_check(1)'))),
  ]
}

/** How durable a commit is, each connection says for itself: the store says FULL, whatever the file was used with. */
function journal(mode: string): Finding {
  if (mode === 'wal') return { check: 'journal', level: 'ok', says: 'writes ahead; the store syncs every commit' }
  const says = `"${mode}", which the store changes to "wal" when it opens. Put the file on a local disk, or it cannot.`
  return { check: 'journal', level: 'warning', says }
}

function damage(said: string): Finding {
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
