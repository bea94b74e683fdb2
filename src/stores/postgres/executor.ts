import { limits } from '../../kernel/limits.js'
import type { SqlValue } from '../sql/row.js'
import type { Connections, Query, Row } from './connections.js'
import { isCollision } from './faults.js'

/** Runs a statement on the records of one scope, or of every scope. */
export type Execute = (scope: string, query: Query, values: readonly SqlValue[]) => Promise<readonly Row[]>

/** Stands for every scope: in a scope, a percent sign is always escaped. */
export const everyScope = '%'

/** Whether PostgreSQL itself keeps a statement from the records of other scopes. */
export type RowSecurity = 'off' | 'scope'

const setScope: Query = { text: `SELECT set_config('hapax.scope', $1, true)`, gives: ['scope'] }

/** Each statement is a transaction of its own. Under row security it takes three more, to say whose records it is about. */
export function executor<Tx>(connections: Connections<Tx>, rowSecurity: RowSecurity): Execute {
  if (rowSecurity === 'off') return (_scope, query, values) => insisting(() => connections.query(query, values))
  return (scope, query, values) =>
    insisting(() =>
      connections.transaction(async (session) => {
        await session.query(setScope, [scope])
        return session.query(query, values)
      }),
    )
}

/** The same inside of a transaction that is about one scope. */
export async function sessionExecutor(
  query: Connections<unknown>['query'],
  rowSecurity: RowSecurity,
  scope: string,
): Promise<Execute> {
  if (rowSecurity === 'scope') await query(setScope, [scope])
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
