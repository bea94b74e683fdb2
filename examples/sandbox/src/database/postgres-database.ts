import { setTimeout as delay } from 'node:timers/promises'
import { HapaxError, isHapaxError } from 'hapax'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from 'kysely'
import pg from 'pg'
import { StartRefused } from '../settings.js'
import type { Database, Result, Transaction } from './database.js'
import { createTables, type Tables } from './tables.js'

/** How long a connection, or the answer to a query, may take. */
const patienceMs = 5_000
/** How long the last connections may take to say goodbye. */
const goodbyeMs = 1_000

/**
 * Connects to a PostgreSQL, which any number of sandboxes may share, and creates what is missing: the records of Hapax
 * in the schema `hapax`, the business rows in the schema `sandbox`.
 */
export async function postgresDatabase(url: string): Promise<Database> {
  const name = nameOf(url)
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: patienceMs })
  // An idle connection was lost. The pool makes a new one when it is needed, and that one says what is wrong.
  pool.on('error', () => {})
  const queries = postgresQueries()
  const store = postgresStore({ pool })

  try {
    // Because this is a sandbox. A service runs `npx hapax migrate` when it is deployed, with a role that may do so.
    await migratePostgres({ pool })
    await store.open()
    await createSandbox(pool, queries)
  } catch (error) {
    throw isHapaxError(error) ? new StartRefused(`${error.message} DATABASE_URL leads to ${name}.`) : error
  }
  return {
    name,
    store: {
      ...store,
      // Whatever hands out a transaction hands out one that looks the same on both databases.
      transaction: (claim, body) => store.transaction(claim, (client) => body(transactionOn(client))),
      single: (reservation, body, joins) =>
        store.single(reservation, ({ tx, ...at }) => body({ ...at, tx: transactionOn(tx) }), joins),
      inbox: { ...store.inbox, receive: (event, body) => store.inbox.receive(event, (tx) => body(transactionOn(tx))) },
      effects: {
        ...store.effects,
        apply: (claim, result, body) => store.effects.apply(claim, result, (tx) => body(transactionOn(tx))),
      },
    },
    queries,
    query: (query) => run(pool, query),
    async end() {
      await Promise.race([pool.end(), delay(goodbyeMs)])
    },
  }
}

/** As `pg` itself reads the URL, with what it takes from the environment. */
function nameOf(connectionString: string): string {
  try {
    const { database, host, port, user } = new pg.Client({ connectionString })
    return `PostgreSQL, ${database} on ${host}:${port} as ${user}`
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StartRefused(
      `DATABASE_URL cannot be read (${why}). Give postgres://user:password@host:port/database, with whatever is special in it percent-encoded.`,
    )
  }
}

/** Statements that are sent together are one transaction. Of nodes that start at once, the lock lets one after another. */
async function createSandbox(pool: pg.Pool, queries: Kysely<Tables>): Promise<void> {
  const lock = `SELECT pg_advisory_xact_lock(hashtext('hapax sandbox'))`
  const tables = createTables(queries).map(({ sql }) => sql)
  const statements = [lock, 'CREATE SCHEMA IF NOT EXISTS sandbox', ...tables]
  await run(pool, { sql: statements.join('; '), parameters: [] })
}

function transactionOn(client: pg.PoolClient): Transaction {
  return { run: (query) => run(client, query) }
}

async function run(
  on: pg.Pool | pg.PoolClient,
  { sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>,
): Promise<Result> {
  const config = { text: sql, values: [...parameters], query_timeout: patienceMs }
  try {
    return await on.query(config)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new HapaxError('store_failed', `PostgreSQL did not do it (${why}).`, { cause: error })
  }
}

function postgresQueries(): Kysely<Tables> {
  const queries = new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  })
  return queries.withSchema('sandbox')
}
