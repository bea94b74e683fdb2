import { sleep, systemClock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { SqlValue } from '../sql/row.js'
import {
  type Connections,
  type ConnectionUse,
  isolation,
  named,
  type Query,
  type Row,
  transactionSettings,
} from './connections.js'
import { lateStatement } from './faults.js'

/** A postgres.js client, by shape. */
export interface PostgresJs<Tx extends PostgresJsTransaction = PostgresJsTransaction> extends PostgresJsTransaction {
  begin(options: string, body: (tx: Tx) => unknown): Promise<unknown>
}

export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): { raw(): PromiseLike<unknown> }
}

export function postgresJsConnections<Tx extends PostgresJsTransaction>(
  sql: PostgresJs<Tx>,
  use: ConnectionUse,
): Connections<Tx> {
  const bounded = <T>(promise: Promise<T>) =>
    within(systemClock, use.statementTimeoutMs, promise, () => lateStatement(use))

  const ask = async (on: PostgresJsTransaction, query: Query, values: readonly SqlValue[]): Promise<readonly Row[]> => {
    const asked = on.unsafe(query.text, [...values] as never[], { prepare: use.statements === 'named' }).raw()
    const rows = (await bounded(Promise.resolve(asked))) as (Uint8Array | null)[][]
    return rows.map((row) =>
      named(
        query,
        row.map((value) => value && Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()),
      ),
    )
  }

  return {
    query: (query, values) => ask(sql, query, values),

    async transaction<T>(body: (session: { tx: Tx; query: Connections<Tx>['query'] }) => Promise<T>): Promise<T> {
      const over = { isOver: false }
      const started = signal()
      const finished = signal()
      const running = sql.begin(isolation, async (tx) => {
        refuseIf(over)
        started.give()
        try {
          await ask(tx, { text: transactionSettings(use), gives: [] }, [])
          const session = {
            tx: guarded(tx, over),
            query: (query: Query, values: readonly SqlValue[]) => ask(tx, query, values),
          }
          // In an array of one, since this library takes an array for a list of statements to wait for.
          return { result: await body(session) }
        } catch (error) {
          // Asked to roll back on a connection that is gone, this library would write to nobody and end the process.
          await sleep(systemClock, 0)
          if (over.isOver) return new Promise<never>(() => {})
          throw error
        } finally {
          finished.give()
        }
      }) as Promise<{ readonly result: T }>
      try {
        await bounded(Promise.race([started.given, running]))
        await Promise.race([finished.given, running])
        return (await bounded(running)).result
      } finally {
        over.isOver = true
        running.catch(() => undefined)
      }
    },
  }
}

interface Over {
  isOver: boolean
}

function refuseIf({ isOver }: Over): void {
  if (isOver) throw new HapaxError('transaction_ended')
}

/**
 * The transaction as the application gets it. After a lost connection this library would run the next statement on a
 * new one, outside of any transaction: so nothing passes once it is over.
 */
function guarded<Tx extends PostgresJsTransaction>(tx: Tx, over: Over): Tx {
  return new Proxy(tx, {
    apply(target, self, given) {
      refuseIf(over)
      return Reflect.apply(target as unknown as () => unknown, self, given)
    },
    get(target, name) {
      const found = Reflect.get(target, name) as unknown
      if (typeof found !== 'function') return found
      return (...given: unknown[]) => {
        refuseIf(over)
        return Reflect.apply(found, target, given)
      }
    },
  })
}

function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}
