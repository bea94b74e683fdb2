import { HapaxError } from '../../kernel/errors.js'
import type { Connection } from './connection.js'
import { migrations, schemaVersion } from './migrations/index.js'

/** What may change the schema when a store opens: the opening of a new file, any opening, or only `hapax migrate`. */
export type MigrateOnOpen = 'new-file' | 'on-open' | 'never'

/** Brings the schema to this release where it may, and refuses a schema that this release does not know. */
export function prepareSchema(connection: Connection, path: string, migrate: MigrateOnOpen): void {
  const mayMigrate = migrate === 'on-open' || (migrate === 'new-file' && isEmpty(connection))
  // Read after that: a file that another process fills just now is no longer empty, but not outdated either.
  const version = versionOf(connection)
  if (version < schemaVersion && mayMigrate) applyPending(connection)
  else refuseOther(version, path)
}

/**
 * Applies what is missing and says what it applied. All of it is one transaction that holds the write lock, so that
 * of many processes one does the work and the others find it done, and a crash leaves nothing half-way.
 */
export function applyPending(connection: Connection): readonly string[] {
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.exec(schemaTable)
    const pending = pendingAfter(versionOf(connection))
    const note = connection.prepare(
      `INSERT INTO hapax_schema (version, name, applied_at) VALUES (?, ?, unixepoch() * 1000)`,
    )
    for (const { version, name, sql } of pending) {
      connection.exec(sql)
      note.run([version, name])
    }
    connection.exec('COMMIT')
    return pending.map(({ name }) => name)
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK')
    throw error
  }
}

export function pendingAfter(version: number) {
  return migrations.filter((migration) => migration.version > version)
}

/** The number of the last migration that was applied; 0 before the first. */
export function versionOf(connection: Connection): number {
  const table = connection.prepare(`SELECT 1 FROM sqlite_schema WHERE name = 'hapax_schema'`).get([])
  if (table === undefined) return 0
  const last = connection.prepare<{ version: number | null }>('SELECT max(version) AS version FROM hapax_schema')
  return last.get([])?.version ?? 0
}

export function refuseNewer(version: number, path: string): void {
  if (version <= schemaVersion) return
  const what = `${path} has schema ${version}, this release knows ${schemaVersion}.`
  throw new HapaxError('store_schema_newer', `${what} Install the release of hapax that wrote it, or a later one.`)
}

/** Refuses an older schema as well. */
export function refuseOther(version: number, path: string): void {
  refuseNewer(version, path)
  if (version === schemaVersion) return
  const message = `${path} has schema ${version}, this release needs ${schemaVersion}. Run: npx hapax migrate ${path}`
  throw new HapaxError('store_schema_outdated', message)
}

function isEmpty(connection: Connection): boolean {
  return connection.prepare('SELECT 1 FROM sqlite_schema').get([]) === undefined
}

const schemaTable = `
CREATE TABLE IF NOT EXISTS hapax_schema (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at INTEGER NOT NULL
) STRICT`
