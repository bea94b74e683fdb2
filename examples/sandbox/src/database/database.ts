import type { Store } from 'hapax'
import type { CompiledQuery, Kysely } from 'kysely'
import type { Tables } from '../payments/payments.js'

/** The database with the payments and the records of Hapax. Whoever is given one does not know which it is. */
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
