import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BusinessRows, StoreHarness } from 'hapax/conformance'
import { migrateSqlite, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import Database from 'libsql'
import { cutSqlite, pinSqliteClock } from '../../dist/stores/sqlite/testing.js'

/** A file of its own for each case, and a thread with its own connection for each node. */
export const sqliteHarness: StoreHarness<SqliteTransaction> = {
  name: 'sqlite',
  lacks: {},
  async fresh() {
    const directory = await mkdtemp(join(tmpdir(), 'hapax-conformance-'))
    const path = join(directory, 'hapax.db')
    await migrateSqlite({ path })
    return {
      async open() {
        const store = sqliteStore({ path })
        await store.open()
        return store
      },
      setTime: (ms) => pinSqliteClock(path, ms),
      dispose: () => rm(directory, { recursive: true }),
      cut: async (store) => cutSqlite(store),
      transactions: ridesIn(path),
    }
  },
}

/** Made and counted through a connection that belongs to no store. */
function ridesIn(path: string): BusinessRows<SqliteTransaction> {
  connected(path, (database) => database.exec('CREATE TABLE rides (name TEXT NOT NULL) STRICT'))
  return {
    async insert(tx, text) {
      await tx.run({ sql: 'INSERT INTO rides (name) VALUES (?)', parameters: [text] })
    },
    count: async () => connected(path, (database) => database.prepare('SELECT name FROM rides').all().length),
  }
}

function connected<T>(path: string, use: (database: Database.Database) => T): T {
  const database = new Database(path)
  try {
    return use(database)
  } finally {
    database.close()
  }
}
