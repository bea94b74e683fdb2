import type { Store } from 'hapax'
import {
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
  type TransactionFrom,
  type TransactionSource,
} from 'hapax/postgres'
import type pg from 'pg'
import { poolOn } from '../../support/postgres-pool.js'
import type { PostgresBench } from '../postgres-fixtures/bench.js'

/** A query builder or an ORM, as its users have it. */
export interface ToolFixture<Tx> {
  readonly name: string
  /** Where there is only one connection, nobody can look or act while a transaction is open. */
  readonly connections: 'many' | 'one'
  /** What takes long and is done once. */
  prepare?(): Promise<unknown>
  /** A node whose handlers are given this tool's transactions, with connections of its own. */
  connect(place: Place): Promise<ToolNode<Tx>>
}

export interface Place {
  /** Where the tool connects to: the server, or a wire in front of it. */
  readonly url: string
  readonly bench: PostgresBench
  readonly options: Omit<PostgresStoreOptions<pg.Pool>, 'pool' | 'schema'>
}

/** As many as a tool may have at once. */
export const connectionsOfTool = 2

export interface ToolNode<Tx> {
  readonly store: PostgresStore<Tx>
  /** What opens transactions. */
  readonly handle: object
  /** Writes a row of the application, as the tool writes one. */
  ride(tx: Tx, name: string): Promise<unknown>
  /** A nested transaction as the tool opens it, where it has such. */
  nest?(tx: Tx, body: (inner: Tx) => Promise<void>): Promise<unknown>
  /** The first value that a statement gives. */
  ask(tx: Tx, statement: string): Promise<unknown>
  /** Looks and acts from outside. */
  readonly outside: Store<never>
  rides(): Promise<readonly string[]>
  end(): Promise<unknown>
}

/** A node on the server: the store's own steps by pg, and the transactions by the tool. */
export function onServer<Source extends TransactionSource & object>(
  { bench: { url, schema, outside, rides }, options }: Place,
  tool: Pick<ToolNode<TransactionFrom<Source>>, 'ride' | 'nest' | 'ask' | 'end'> & { readonly handle: Source },
): ToolNode<TransactionFrom<Source>> {
  const pool = poolOfTool(url)
  return {
    ...tool,
    store: postgresStore({ ...options, pool, schema, transactions: tool.handle }) as PostgresStore<
      TransactionFrom<Source>
    >,
    outside,
    rides,
    end: () => Promise.all([tool.end(), pool.end()]),
  }
}

/** As the guide has it: a connection that is lost says so by an event, and somebody must hear it. */
export function poolOfTool(url: string): pg.Pool {
  const pool = poolOn(url, { max: connectionsOfTool })
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** The first value of a row that has names. */
export function firstOf(row: unknown): unknown {
  return Object.values(row as object)[0]
}
