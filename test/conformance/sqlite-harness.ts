import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BusinessRows, StoreHarness } from 'hapax/conformance'
import { migrateSqlite, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
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
      transactions: await ridesIn(path),
    }
  },
}

async function ridesIn(path: string): Promise<BusinessRows<SqliteTransaction>> {
  await oneStatement(path, 'CREATE TABLE rides (name TEXT NOT NULL) STRICT')
  return {
    async insert(tx, text) {
      await tx.run({ sql: 'INSERT INTO rides (name) VALUES (?)', parameters: [text] })
    },
    count: async () => (await oneStatement(path, 'SELECT name FROM rides')).length,
  }
}

/** From outside of every node that the case has opened. */
async function oneStatement(path: string, sql: string): Promise<readonly unknown[]> {
  const store = sqliteStore({ path })
  try {
    return (await store.query({ sql })).rows
  } finally {
    await store.close()
  }
}
