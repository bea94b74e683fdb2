import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Store } from 'hapax'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import { firstOf, type ToolFixture } from './fixture.js'

/** The pool and what opens transactions are one and the same: PostgreSQL in this process. */
export const pgliteFixture: ToolFixture<Transaction> = {
  name: 'PGlite',
  connections: 'one',
  prepare: started,
  async connect({ url, options: asked }) {
    const handle = await started()
    if (url.includes('serializable')) await handle.exec(`SET default_transaction_isolation = 'serializable'`)
    const options = { ...asked, pool: handle, durability: 'unchecked' } as const
    return {
      handle,
      store: postgresStore({ ...options, transactions: handle }),
      ride: (tx, name) => tx.query('INSERT INTO rides VALUES ($1)', [name]),
      ask: async (tx, statement) => firstOf((await tx.query(statement)).rows[0]),
      outside: postgresStore(options) as Store<never>,
      rides: async () =>
        (await handle.query<{ name: string }>('SELECT name FROM rides ORDER BY name')).rows.map(nameOf),
      end: () => handle.exec('DELETE FROM rides; DELETE FROM hapax.records; RESET default_transaction_isolation'),
    }
  },
}

let starting: Promise<PGlite> | undefined

/** One for all tests, since to start it takes seconds. It ends with their process. */
function started(): Promise<PGlite> {
  starting ??= (async () => {
    const db = await PGlite.create()
    await db.exec('CREATE TABLE rides (name text NOT NULL)')
    await migratePostgres({ pool: db })
    return db
  })()
  return starting
}

function nameOf({ name }: { readonly name: string }): string {
  return name
}
