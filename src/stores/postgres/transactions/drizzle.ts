import { sleep, systemClock } from '../../../kernel/clock.js'
import type { SqlValue } from '../../sql/row.js'
import { isLoss } from '../faults.js'
import { reasonOf } from './reason.js'
import { has, type Tool } from './tool.js'

interface Drizzle {
  transaction<T>(
    body: (tx: DrizzleTransaction) => Promise<T>,
    options: { readonly isolationLevel: 'read committed' },
  ): Promise<T>
  readonly $client?: unknown
}

interface DrizzleTransaction {
  /** Some of its drivers give the rows themselves, others a result that has them. */
  execute(query: Built): PromiseLike<readonly unknown[] | { readonly rows: readonly unknown[] }>
}

/** What this tool asks of a statement: that it can be made into text and values. */
interface Built {
  getSQL(): { toQuery(): { readonly sql: string; readonly params: SqlValue[] } }
}

export const drizzleTool: Tool<Drizzle, DrizzleTransaction> = {
  name: 'Drizzle',
  isHandle: (given): given is Drizzle => has(given, 'execute', 'transaction', 'select') && !has(given, 'rollback'),
  isTransaction: (given): given is DrizzleTransaction =>
    has(given, 'execute', 'transaction', 'select') && has(given, 'rollback'),
  begin: (db, body) => (isOnPostgresJs(db) ? leftWhenLost(db, body) : begun(db, body)),
  async say(tx, sql, params) {
    const result = await tx.execute({ getSQL: () => ({ toQuery: () => ({ sql, params }) }) })
    return 'rows' in result ? result.rows : result
  },
}

function begun<T>(db: Drizzle, body: (tx: DrizzleTransaction) => Promise<T>): Promise<T> {
  return db.transaction(body, { isolationLevel: 'read committed' })
}

function isOnPostgresJs({ $client }: Drizzle): boolean {
  return typeof $client === 'function' && has($client, 'unsafe', 'begin')
}

/**
 * Asked to roll back on a connection that is gone, postgres.js would write to nobody and end the process. So there the
 * function is left where it stands, and only its caller hears of it.
 */
function leftWhenLost<T>(db: Drizzle, body: (tx: DrizzleTransaction) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLost = false
    const left = async (tx: DrizzleTransaction) => {
      try {
        return await body(tx)
      } catch (error) {
        await sleep(systemClock, 0)
        if (!isLost && !isLoss(reasonOf(error))) throw error
        reject(error)
        return new Promise<never>(() => {})
      }
    }
    begun(db, left).then(resolve, (error) => {
      isLost = true
      reject(error)
    })
  })
}
