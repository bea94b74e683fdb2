import { atEndOfTurn } from '../../kernel/clock.js'
import { limits } from '../../kernel/limits.js'
import type { SqlValue } from '../sql/row.js'
import { type Asked, type Connections, type Gave, inTurn, type Query, type Row } from './connections.js'
import { isCollision, isRefusal } from './faults.js'

/** Runs a statement on the records of one scope, or of every scope. */
export type Execute = (scope: string, query: Query, values: readonly SqlValue[]) => Promise<readonly Row[]>

/** Stands for every scope: in a scope, a percent sign is always escaped. */
export const everyScope = '%'

/** Whether PostgreSQL itself keeps a statement from the records of other scopes. */
export type RowSecurity = 'off' | 'scope'

const setScope: Query = { text: `SELECT set_config('hapax.scope', $1, true)`, gives: ['scope'] }

/** Each statement is a transaction of its own. Under row security that is spelled out, to say whose records it is about. */
export function executor<Tx>(connections: Connections<Tx>, rowSecurity: RowSecurity): Execute {
  if (rowSecurity === 'off') return (_scope, query, values) => insisting(() => connections.query(query, values))
  return (scope, query, values) =>
    insisting(async () => {
      let rows: readonly Row[] = []
      const handOn = ([gave = []]: Gave) => {
        rows = gave
      }
      const opening = { asked: aboutScope(rowSecurity, scope) }
      await connections.transaction(async ({ last }) => last({ asked: [{ query, values }], handOn }), opening)
      return rows
    })
}

/**
 * The same, where statements that leave in one turn of the event loop share a commit and its flush, as far as the library can
 * send them in one go. Where one of them is refused, none has happened, and each is sent by itself.
 *
 * No two of a kind go together. Reservations may wait for somebody else's, in the order of their digests; of two such statements
 * each has its own order, and two nodes could wait for each other.
 */
export function sharingCommits<Tx>(
  { queryTogether }: Connections<Tx>,
  execute: Execute,
  gather: (send: () => void) => void = atEndOfTurn,
): Execute {
  if (queryTogether === undefined) return execute
  let leaving: Leaving[] = []

  function leave(): void {
    let rest = leaving
    leaving = []
    while (rest.length > 0) {
      const kinds = new Map(rest.map((one) => [one.asked.query, one]))
      const together = [...kinds.values()]
      rest = rest.filter((one) => !together.includes(one))
      send(together)
    }
  }

  function send(all: readonly Leaving[]): void {
    const alone = () => {
      for (const { scope, asked, resolve } of all) resolve(execute(scope, asked.query, asked.values))
    }
    if (all.length === 1) return alone()
    queryTogether?.(all.map(({ asked }) => asked)).then(
      (gave) => {
        if (gave === undefined) return alone()
        for (const [index, { resolve }] of all.entries()) resolve(gave[index] ?? [])
      },
      (error: unknown) => {
        if (isRefusal(error)) return alone()
        for (const { reject } of all) reject(error)
      },
    )
  }

  return (scope, query, values) =>
    new Promise((resolve, reject) => {
      leaving.push({ scope, asked: { query, values }, resolve, reject })
      if (leaving.length === 1) gather(leave)
    })
}

/** A statement that waits for those who come along. */
interface Leaving {
  readonly scope: string
  readonly asked: Asked
  readonly resolve: (rows: readonly Row[] | Promise<readonly Row[]>) => void
  readonly reject: (error: unknown) => void
}

/** The same inside of a transaction that is about one scope. */
export async function sessionExecutor(
  query: Connections<unknown>['query'],
  rowSecurity: RowSecurity,
  scope: string,
): Promise<Execute> {
  await inTurn(query, aboutScope(rowSecurity, scope))
  return openExecutor(query)
}

/** What has to be said in a transaction before anything about that scope. */
export function aboutScope(rowSecurity: RowSecurity, scope: string): readonly Asked[] {
  return rowSecurity === 'scope' ? [{ query: setScope, values: [scope] }] : []
}

/** Where that was said. */
export function openExecutor(query: Connections<unknown>['query']): Execute {
  return (_scope, statement, values) => query(statement, values)
}

/** Where the application made every transaction serializable, PostgreSQL may undo a statement and expects it again. */
async function insisting<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!isCollision(error) || attempt === limits.contention) throw error
    }
  }
}
