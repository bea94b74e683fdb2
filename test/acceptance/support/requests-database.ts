import { join } from 'node:path'
import Database from 'libsql'
import { expect } from 'vitest'
import type { SandboxProcess } from '../../sandbox/sandbox-process.js'

/** A look into a SQLite file that does not go through Hapax, which is not believed here. Only what was committed shows. */

export type Row = Readonly<Record<string, unknown>>

export function databaseOf({ dataDir }: SandboxProcess): string {
  return join(dataDir, 'hapax.db')
}

export function rowsOf(path: string, sql: string, ...parameters: readonly (string | number)[]): Row[] {
  return connected(path, (database) => database.prepare(sql).all([...parameters]) as Row[])
}

/** The whole record of a key, in whatever scope. */
export function recordOf(path: string, key: string): Row {
  const [row, ...others] = rowsOf(path, 'SELECT * FROM hapax_records WHERE idempotency_key = ?', key)
  if (row === undefined || others.length > 0) throw new Error(`${key} has ${row ? 'several records' : 'no record'}`)
  return row
}

/** Resolves once the request with this key holds its claim. */
export async function untilRunning(sandbox: SandboxProcess, key: string): Promise<void> {
  const running = () => rowsOf(databaseOf(sandbox), 'SELECT status FROM hapax_records WHERE idempotency_key = ?', key)
  await expect.poll(running, { timeout: 10_000, interval: 10 }).toEqual([{ status: 'in_progress' }])
}

export function change(path: string, sql: string): void {
  connected(path, (database) => database.exec(sql))
}

/** What SQLite gives for a blob is an ArrayBuffer or bytes, by its mood. */
export function bytesOf(value: unknown): Buffer {
  return Buffer.from(value as ArrayBuffer)
}

function connected<T>(path: string, use: (database: Database.Database) => T): T {
  const database = new Database(path, { timeout: 2_000 })
  try {
    return use(database)
  } finally {
    database.close()
  }
}
