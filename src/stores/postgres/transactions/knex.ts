import type { SqlValue } from '../../sql/row.js'
import { endedTransaction } from '../faults.js'
import { has, readCommitted, type Tool } from './tool.js'

interface Knex {
  transaction<T>(body: (tx: KnexTransaction) => Promise<T>): Promise<T>
}

interface KnexTransaction {
  readonly isTransaction?: boolean
  readonly client: Client
  /** What its functions work on. */
  readonly context: Context
  raw(text: string, values: SqlValue[]): PromiseLike<{ readonly rows: readonly unknown[] }>
}

/** What lends a statement the connection of the transaction, and opens nested ones on it. */
interface Client {
  acquireConnection(): Promise<unknown>
  query(...given: unknown[]): Promise<unknown>
  transaction(body: (inner: KnexTransaction) => unknown, options: unknown, outer: object): object
}

interface Context {
  transaction(...given: unknown[]): unknown
  transactionProvider(...given: unknown[]): unknown
  batchInsert(...given: unknown[]): unknown
}

export const knexTool: Tool<Knex, KnexTransaction> = {
  name: 'Knex',
  isHandle: (given): given is Knex => isKnex(given) && given.isTransaction !== true,
  isTransaction: (given): given is KnexTransaction => isKnex(given) && given.isTransaction === true,
  // It would say the level before BEGIN, where PostgreSQL does not listen.
  begin: (knex, body) =>
    knex.transaction(async (tx) => {
      await tx.raw(readCommitted, [])
      return body(tx)
    }),
  async say(tx, text, values) {
    const { sql, bindings } = questioned(text, values)
    return (await tx.raw(sql, bindings)).rows
  },
  sealed(tx, maySend) {
    const client = sealedClient(tx.client, maySend)
    const context = Object.create(tx.context, { client: { value: client } }) as Context
    const sealed = (made: unknown) => {
      if (isBuilder(made)) made.client = client
      return made
    }
    return new Proxy(tx, {
      apply: (target, self, given) => sealed(Reflect.apply(target as unknown as () => unknown, self, given)),
      get(target, name) {
        if (name === 'client') return client
        const found = Reflect.get(target, name) as unknown
        // This one is made anew each time; whatever else lies there is the owner's.
        if (typeof found !== 'function') return name === 'schema' ? sealed(found) : found
        return (...given: unknown[]) => {
          if (!maySend()) throw endedTransaction()
          const nests = nesting[name as keyof typeof nesting]
          return nests ? context[nests](...given) : sealed(Reflect.apply(found, target, given))
        }
      },
    })
  },
}

/** What opens a nested transaction, and which function of the context does it. */
const nesting: { readonly [Name in keyof Context | 'savepoint']?: keyof Context } = {
  transaction: 'transaction',
  savepoint: 'transaction',
  transactionProvider: 'transactionProvider',
  batchInsert: 'batchInsert',
}

function isKnex(given: object): given is Knex & KnexTransaction {
  return typeof given === 'function' && has(given, 'raw', 'transaction')
}

/** This tool counts its values itself: each `$n` is a question mark there, and a question mark is escaped. */
function questioned(text: string, values: readonly SqlValue[]) {
  const bindings: SqlValue[] = []
  const sql = text.replaceAll(/\?|\$(\d+)/g, (found, n?: string) => {
    if (n === undefined) return `\\${found}`
    bindings.push(values[Number(n) - 1] ?? null)
    return '?'
  })
  return { sql, bindings }
}

function isBuilder(made: unknown): made is { client: Client } {
  return typeof made === 'object' && made !== null && 'client' in made
}

/** A statement asks its client for the connection when somebody waits for it. */
function sealedClient(client: Client, maySend: () => boolean): Client {
  let ours: object | undefined
  return Object.create(client, {
    acquireConnection: {
      value: async () => {
        if (!maySend()) throw endedTransaction()
        return client.acquireConnection()
      },
    },
    transaction: {
      value(this: Client, body: (inner: KnexTransaction) => unknown, options: unknown, outer: object) {
        // One waits here for the one before it. The owner's would wait for a handler that may never end.
        ours ??= Object.create(outer) as object
        const nested = (inner: KnexTransaction) => body(sealedNested(inner, maySend))
        return Reflect.apply(client.transaction, this, [nested, options, ours]) as object
      },
    },
  }) as Client
}

/** Its end passes the client that was made for it alone, and would fail in the transaction of the owner if it came late. */
function sealedNested(inner: KnexTransaction, maySend: () => boolean): KnexTransaction {
  const { client } = inner
  const { query } = client
  client.query = async (...given) => {
    if (!maySend()) throw endedTransaction()
    return Reflect.apply(query, client, given) as Promise<unknown>
  }
  return knexTool.sealed(inner, maySend)
}
