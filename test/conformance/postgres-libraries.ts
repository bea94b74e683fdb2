import { type PostgresStore, type PostgresStoreOptions, postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import postgres from 'postgres'
import { poolOn } from '../support/postgres-pool.js'

/** A client library, as the tests use it. */
export interface ClientLibrary<Tx> {
  readonly name: string
  connect(url: string, options: Omit<PostgresStoreOptions<pg.Pool>, 'pool'>): LibraryNode<Tx>
  insert(tx: Tx, table: string, text: string): Promise<void>
  say(tx: Tx, statement: string): Promise<void>
}

/** One node: its store, and its own connections. */
export interface LibraryNode<Tx> {
  readonly store: PostgresStore<Tx>
  end(): Promise<void>
}

export const connections = 4

export const pgLibrary: ClientLibrary<pg.PoolClient> = {
  name: 'pg',
  connect(url, options) {
    const pool = poolOn(url, { max: connections })
    return { store: postgresStore({ ...options, pool }), end: () => pool.end() }
  },
  insert: async (tx, table, text) => void (await tx.query(`INSERT INTO ${table} VALUES ($1)`, [text])),
  say: async (tx, statement) => void (await tx.query(statement)),
}

export const postgresJs: ClientLibrary<postgres.TransactionSql> = {
  name: 'postgres.js',
  connect(url, options) {
    const sql = postgres(url, {
      max: connections,
      fetch_types: false,
      backoff: () => 0,
      // This library names its own COMMIT too, which no pooler in transaction mode knows on its next connection.
      prepare: options.connection === 'direct',
      onnotice: () => undefined,
    })
    return { store: postgresStore({ ...options, pool: sql }), end: () => sql.end({ timeout: 1 }) }
  },
  insert: async (tx, table, text) => void (await tx.unsafe(`INSERT INTO ${table} VALUES ($1)`, [text])),
  say: async (tx, statement) => void (await tx.unsafe(statement)),
}
