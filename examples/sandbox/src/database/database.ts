import type { Store } from 'hapax'
import type { CompiledQuery, Kysely } from 'kysely'
import type { Tables } from './tables.js'

/** The database with the business rows and the records of Hapax. Whoever is given one does not know which it is. */
export interface Database {
  /** Says to people which one it is and where, without the password. */
  readonly name: string
  readonly store: Store<Transaction>
  /** Builds queries and runs none. */
  readonly queries: Kysely<Tables>
  /** Runs a query on its own. Whatever goes wrong in the database is thrown as a HapaxError. */
  query(query: CompiledQuery): Promise<Result>
  /** Lets go of what is still held once the store is closed. */
  end(): Promise<void>
}

/** A transaction that the store holds: what runs in it commits together with the answer, or not at all. */
export interface Transaction {
  run(query: CompiledQuery): Promise<Result>
}

export interface Result {
  readonly rows: readonly Row[]
}

export type Row = Readonly<Record<string, unknown>>

/** Where queries are built and run: on their own, or in a transaction. */
export interface Rows {
  readonly db: Kysely<Tables>
  run(query: { compile(): CompiledQuery }): Promise<readonly Row[]>
}

/** Each query commits by itself. For reading, mostly. */
export function rowsOf({ queries, query }: Database): Rows {
  return { db: queries, run: async (built) => (await query(built.compile())).rows }
}

/** All queries commit together, or none does. */
export function rowsIn({ queries }: Database, tx: Transaction): Rows {
  return { db: queries, run: async (built) => (await tx.run(built.compile())).rows }
}
