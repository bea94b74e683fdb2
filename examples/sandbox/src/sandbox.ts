import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Engine, engine, type Policy } from 'hapax'
import { type SqliteStore, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import { createPaymentsTable, type Tables } from './payments.js'
import { type Settings, StartRefused } from './settings.js'

/** What every request is given. */
export interface Sandbox {
  readonly hapax: Engine<SqliteTransaction>
  readonly policy: Policy<'reject'>
  readonly store: SqliteStore
  /** Builds queries and runs none: they run on the store's connection, where they can join its transaction. */
  readonly queries: Kysely<Tables>
  readonly delayMs: number
}

/** Opens the database in the data directory and creates what is missing. */
export async function openSandbox({ dataDir, delayMs, lease }: Settings): Promise<Sandbox> {
  createDirectory(dataDir)
  const store = sqliteStore({ path: join(dataDir, 'hapax.db') })
  const hapax = engine({ store })
  // The only effect of a payment is one transaction of this database. A crash rolls it back, so that a retry may
  // simply run.
  const policy = hapax.policy({ name: 'payments.create', retention: '24h', lease, onCrash: 'retry' })
  await hapax.open()
  const queries = sqliteQueries()
  await store.query(createPaymentsTable(queries))
  return { hapax, policy, store, queries, delayMs }
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
