import { limits } from '../../kernel/limits.js'
import type { SqlValue } from '../sql/row.js'
import { type Asked, type Connections, type Gave, inTurn, type Query, type Row } from './connections.js'
import { isCollision } from './faults.js'

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
