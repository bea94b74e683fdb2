import { join } from 'node:path'
import Database from 'libsql'
import type { SandboxProcess } from '../../sandbox/sandbox-process.js'

/** A look into a SQLite file that does not go through Hapax, which is not believed here. Only what was committed shows. */

export type Row = Readonly<Record<string, unknown>>

export function databaseOf({ dataDir }: SandboxProcess): string {
  return join(dataDir, 'hapax.db')
}

/** One statement, and its rows if it has any. */
export function sqlOn(path: string, text: string, ...parameters: readonly unknown[]): Row[] {
  return connected(path, (database) => {
    const statement = database.prepare(text)
    if (statement.reader) return statement.all([...parameters]) as Row[]
    statement.run([...parameters])
    return []
  })
}

export function scriptOn(path: string, text: string): void {
  connected(path, (database) => database.exec(text))
}

/** The whole record of a key, in whatever scope. */
export function recordOf(path: string, key: string): Row {
  const [row, ...others] = sqlOn(path, 'SELECT * FROM hapax_records WHERE idempotency_key = ?', key)
  if (row === undefined || others.length > 0) throw new Error(`${key} has ${row ? 'several records' : 'no record'}`)
  return row
}

/** What SQLite gives for a blob is an ArrayBuffer or bytes, by its mood. */
export function bytesOf(value: unknown): Buffer {
  return Buffer.from(value as ArrayBuffer)
}

/** Takes the table of records away, as a broken migration might; the function returned brings it back. */
export function withoutRecords(path: string): () => void {
  scriptOn(path, 'ALTER TABLE hapax_records RENAME TO hapax_records_gone')
  return () => scriptOn(path, 'ALTER TABLE hapax_records_gone RENAME TO hapax_records')
}

function connected<T>(path: string, use: (database: Database.Database) => T): T {
  const database = new Database(path, { timeout: 2_000 })
  try {
    return use(database)
  } finally {
    database.close()
  }
}
