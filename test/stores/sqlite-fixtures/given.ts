import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from 'hapax/sqlite'
import Database from 'libsql'
import { onTestFinished } from 'vitest'

/** What the tests of the SQLite store start from. */

/** A path in a directory of its own, which goes when the test ends. */
export function freshPath(name = 'hapax.db'): string {
  const directory = mkdtempSync(join(tmpdir(), 'hapax-sqlite-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, name)
}

/** An open store, closed when the test ends. */
export async function openStore(options: Partial<SqliteStoreOptions> = {}): Promise<SqliteStore> {
  const store = sqliteStore({ path: freshPath(), ...options })
  onTestFinished(() => store.close())
  await store.open()
  return store
}

/** Looks at a file from outside of any store. */
export function looking<T>(path: string, look: (database: Database.Database) => T): T {
  const database = new Database(path)
  try {
    database.exec('PRAGMA busy_timeout = 5000')
    return look(database)
  } finally {
    database.close()
  }
}

export function integrityOf(path: string): unknown {
  return looking(path, (database) => database.prepare('PRAGMA integrity_check').all([]))
}
