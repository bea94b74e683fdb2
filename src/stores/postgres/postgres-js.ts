import { sleep, systemClock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { SqlValue } from '../sql/row.js'
import {
  type Asked,
  type Connections,
  type ConnectionUse,
  type Gave,
  isolation,
  type Last,
  named,
  type Opening,
  type Query,
  type Row,
  type Session,
  transactionSettings,
} from './connections.js'
import { endedTransaction, idleTransaction, lateStatement, noConnection, sqlStateOf } from './faults.js'
import { type Course, guarded, isOver, type PostgresJsTransaction } from './postgres-js-guard.js'
import { silenceOf } from './silence.js'
import { byNesting, type Nesting } from './undoable.js'

/** A postgres.js client, by shape. */
export interface PostgresJs<Tx extends PostgresJsTransaction = PostgresJsTransaction> extends PostgresJsTransaction {
  begin(options: string, body: (tx: Tx) => unknown): Promise<unknown>
  readonly options?: { readonly prepare?: boolean }
}

export function postgresJsConnections<Tx extends PostgresJsTransaction>(
  sql: PostgresJs<Tx>,
  use: ConnectionUse,
): Connections<Tx> {
  refuseNamedCommit(sql, use)
  const bounded = <T>(promise: Promise<T>) =>
    within(systemClock, use.statementTimeoutMs, promise, () => lateStatement(use))

  const ask = async (on: PostgresJsTransaction, query: Query, values: readonly SqlValue[]): Promise<readonly Row[]> => {
    const asked = on
      .unsafe(query.text, [...values] as never[], { prepare: use.statements === 'named' && query.plan === undefined })
      .raw()
    const rows = (await bounded(Promise.resolve(asked))) as (Uint8Array | null)[][]
    return rows.map((row) =>
      named(
        query,
        row.map((value) => value && Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()),
      ),
    )
  }

  return {
    // This library ends its connections by itself.
    async close() {},
    query: (query, values) => ask(sql, query, values),

    async transaction<T>(
      body: (session: Session<Tx>) => Promise<T>,
      { asked: opening }: Opening = { asked: [] },
    ): Promise<T> {
      const started = signal()
      const finished = signal()
      const silent = signal()
      const silence = silenceOf(use, silent.give)
      const course: Course = { stage: 'open', open: 0, sentAt: systemClock.elapsed(), silence }
      /** Asked to roll back on a connection that is gone, this library would write to nobody and end the process. */
      const mayUndo = async () => {
        await sleep(systemClock, 0)
        if (isOver(course)) await new Promise<never>(() => {})
      }
      const running = sql.begin(isolation, async (tx) => {
        if (isOver(course)) throw endedTransaction()
        started.give()
        const store = guarded(tx, course, () => !isOver(course))
        // On one connection this library sends ahead: what is asked at once travels together.
        const together = (asked: readonly Asked[]): Promise<Gave> =>
          Promise.all(asked.map(({ query, values }) => ask(store, query, values)))
        const leaving: { last?: Last } = {}
        try {
          const [, ...opened] = await together([transactionSettings(use), ...opening])
          const session = {
            opened,
            last: (last: Last) => {
              leaving.last = last
            },
            tx: guarded(tx, course, () => course.stage === 'open'),
            query: (query: Query, values: readonly SqlValue[]) => ask(store, query, values),
            undoable: byNesting<Tx>(
              guarded(
                tx,
                course,
                () => course.stage === 'open',
                () => !isOver(course),
              ) as Tx & Nesting,
              mayUndo,
            ),
            seal: () => {
              if (course.stage === 'open') course.stage = 'sealed'
            },
          }
          const result = await body(session)
          const { asked = [], handOn = () => undefined } = leaving.last ?? {}
          // Not awaited, so that COMMIT travels with them. Where one fails, the server takes it for ROLLBACK.
          const gave = together(asked)
          gave.catch(() => undefined)
          // In an object, since this library takes an array for a list of statements to wait for.
          return { result, left: { gave, handOn } }
        } catch (error) {
          await mayUndo()
          throw error
        } finally {
          finished.give()
        }
      }) as Promise<Returned<T>>
      try {
        const starting = Promise.race([started.given, running])
        await within(systemClock, use.statementTimeoutMs, starting, () => noConnection(use))
        await Promise.race([finished.given, running, silent.given.then(() => Promise.reject(lateStatement(use)))])
        const { result, left } = await bounded(running)
        left.handOn(await bounded(left.gave))
        return result
      } catch (error) {
        // The server says why it ends an idle transaction, but this library tells nobody.
        const isIdle = course.open === 0 && systemClock.elapsed() - course.sentAt >= use.transactionTimeoutMs
        throw isIdle && sqlStateOf(error) === 'CONNECTION_CLOSED' ? idleTransaction(error) : error
      } finally {
        course.stage = 'over'
        running.catch(() => undefined)
      }
    },
  }
}

/** What the function of a transaction gave, and what was sent behind it. */
interface Returned<T> {
  readonly result: T
  readonly left: { readonly gave: Promise<Gave>; readonly handOn: Last['handOn'] }
}

/**
 * This library names the COMMIT of its transactions, unless it is told to name nothing. Behind a pooler the name is not
 * known, the transaction is rolled back, and the library takes the answer to its second try for a success.
 */
function refuseNamedCommit({ options }: PostgresJs, { statements }: ConnectionUse): void {
  if (statements === 'named' || options?.prepare === false) return
  throw new HapaxError(
    'policy_invalid',
    `A pooler would lose commits of this client. Make it with postgres(url, { prepare: false }), or say connection: 'direct' if there is no pooler.`,
  )
}

function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}
