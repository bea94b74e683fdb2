import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteStore } from 'hapax/sqlite'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { StartRefused } from '../settings.js'
import type { Database } from './database.js'
import { createTables, type Tables } from './tables.js'

/** Opens the file in the data directory and creates what is missing. The business rows use the store's own connection. */
export async function sqliteDatabase(dataDir: string): Promise<Database> {
  createDirectory(dataDir)
  const path = join(dataDir, 'hapax.db')
  const store = sqliteStore({ path })
  const queries = sqliteQueries()
  await store.open()
  for (const table of createTables(queries)) await store.query(table)
  return { name: `SQLite, ${path}`, store, queries, query: store.query, async end() {} }
}

function createDirectory(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefused(`The data directory cannot be created (${why}). Give another one in HAPAX_DATA_DIR.`)
  }
}

function sqliteQueries(): Kysely<Tables> {
  return new Kysely({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  })
}
