import { sleep, systemClock } from '../../../kernel/clock.js'
import type { SqlValue } from '../../sql/row.js'
import { guarded as guardedClient, type PgClient } from '../pg-pool.js'
import { guarded, openCourse, type PostgresJsTransaction } from '../postgres-js-guard.js'
import { sealedCalls } from './sealed-calls.js'
import { has, type Tool } from './tool.js'

interface Drizzle {
  transaction<T>(
    body: (tx: DrizzleTransaction) => Promise<T>,
    options: { readonly isolationLevel: 'read committed' },
  ): Promise<T>
  readonly $client?: unknown
}

interface DrizzleTransaction {
  /** Where it keeps the client library's own transaction. */
  readonly session?: { client?: unknown }
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
  sealed: (tx, maySend) => {
    const session = tx.session && sealedSession(tx.session, maySend)
    return new Proxy(tx, {
      get(target, name, self) {
        if (name === 'session') return session
        const found = Reflect.get(target, name, self) as unknown
        // What asks by relations was made with the session of the owner.
        return name === 'query' || name === '_query' ? sealedCalls(found as object, maySend) : found
      },
    })
  },
}

/** Whatever the tool builds, its session sends: on the client library's own transaction. */
function sealedSession(session: NonNullable<DrizzleTransaction['session']>, maySend: () => boolean) {
  const { client } = session
  const sealed = isPostgresJs(client, 'savepoint')
    ? guarded(client, openCourse(), maySend)
    : guardedClient(client as PgClient, maySend)
  return new Proxy(session, {
    get: (target, name, self) => (name === 'client' ? sealed : Reflect.get(target, name, self)),
  })
}

function begun<T>(db: Drizzle, body: (tx: DrizzleTransaction) => Promise<T>): Promise<T> {
  return db.transaction(body, { isolationLevel: 'read committed' })
}

function isOnPostgresJs({ $client }: Drizzle): boolean {
  return isPostgresJs($client, 'begin')
}

function isPostgresJs(given: unknown, opens: 'begin' | 'savepoint'): given is PostgresJsTransaction {
  return typeof given === 'function' && has(given, 'unsafe', opens)
}

/**
 * Whatever is sent on a connection that is gone, postgres.js writes to nobody, and ends the process. So nothing passes
 * once it is over, and a function whose connection is lost is left where it stands: no ROLLBACK follows, and only its
 * caller hears of it.
 */
function leftWhenLost<T>(db: Drizzle, body: (tx: DrizzleTransaction) => Promise<T>): Promise<T> {
  // The server bounds a handler's statements here.
  const course = openCourse()
  const isOver = () => course.stage === 'over'
  return new Promise((resolve, reject) => {
    const guardedBody = async (tx: DrizzleTransaction) => {
      const { session } = tx
      if (session !== undefined && isPostgresJs(session.client, 'savepoint'))
        session.client = guarded(session.client, course, () => !isOver())
      try {
        return await body(tx)
      } catch (error) {
        await sleep(systemClock, 0)
        if (!isOver()) throw error
        reject(error)
        return new Promise<never>(() => {})
      }
    }
    begun(db, guardedBody).then(resolve, (error) => {
      course.stage = 'over'
      reject(error)
    })
  })
}
