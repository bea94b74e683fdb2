import { sleep, systemClock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { SqlValue } from '../sql/row.js'
import {
  type Connections,
  type ConnectionUse,
  isolation,
  named,
  type Progress,
  type Query,
  type Row,
  type Session,
  transactionSettings,
} from './connections.js'
import { endedTransaction, idleTransaction, isLoss, lateStatement, noConnection, sqlStateOf } from './faults.js'
import { type Silence, silenceOf } from './silence.js'
import { byNesting, type Nesting } from './undoable.js'

/** A postgres.js client, by shape. */
export interface PostgresJs<Tx extends PostgresJsTransaction = PostgresJsTransaction> extends PostgresJsTransaction {
  begin(options: string, body: (tx: Tx) => unknown): Promise<unknown>
  readonly options?: { readonly prepare?: boolean }
}

export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): { raw(): PromiseLike<unknown> }
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
      .unsafe(query.text, [...values] as never[], { prepare: use.statements === 'named' && query.plan !== 'fresh' })
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

    async transaction<T>(body: (session: Session<Tx>) => Promise<T>): Promise<T> {
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
        try {
          await ask(store, { text: transactionSettings(use), gives: [] }, [])
          const session = {
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
          // In an object, since this library takes an array for a list of statements to wait for.
          return { result: await body(session) }
        } catch (error) {
          await mayUndo()
          throw error
        } finally {
          finished.give()
        }
      }) as Promise<{ readonly result: T }>
      try {
        const starting = Promise.race([started.given, running])
        await within(systemClock, use.statementTimeoutMs, starting, () => noConnection(use))
        await Promise.race([finished.given, running, silent.given.then(() => Promise.reject(lateStatement(use)))])
        return (await bounded(running)).result
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

/** How far a transaction is, how many statements wait for their answer, and when the last one was sent. */
export interface Course extends Progress {
  open: number
  sentAt: number
  readonly silence: Silence
}

/** Of a transaction whose statements somebody else bounds. */
export function openCourse(): Course {
  const silence = { owes: () => undefined, answered: () => undefined }
  return { stage: 'open', open: 0, sentAt: systemClock.elapsed(), silence }
}

function isOver({ stage }: Course): boolean {
  return stage === 'over'
}

/**
 * The transaction as somebody gets it who may send only for a while. After a lost connection this library would run
 * the next statement on a new one, outside of any transaction; so nothing passes once it is over. `mayEnd` says whether the
 * library may still end a savepoint that was opened on it.
 */
export function guarded<Tx extends PostgresJsTransaction>(
  tx: Tx,
  course: Course,
  maySend: () => boolean,
  mayEnd = maySend,
): Tx {
  const asking = (made: unknown) => watched(made, course, maySend)
  return new Proxy(tx, {
    apply: (target, self, given) => asking(Reflect.apply(target as unknown as () => unknown, self, given)),
    get(target, name) {
      const found = Reflect.get(target, name) as unknown
      if (typeof found !== 'function') return found
      if (name === 'unsafe' || name === 'file')
        return (...given: unknown[]) => asking(Reflect.apply(found, target, given))
      if (name !== 'savepoint') return found
      return (...given: unknown[]) => {
        if (!maySend()) throw endedTransaction()
        const [name, body] = savepointOf<Tx>(given)
        const nested = (inner: Tx) => body(guarded(inner, course, maySend))
        return leftWhenLate(nested, mayEnd, (body) => Reflect.apply(found, target, [...name, body]) as Promise<unknown>)
      }
    },
  })
}

type Body<Tx> = (inner: Tx) => unknown

/** This library takes a name and a function, a function alone, or one statement as a template. */
function savepointOf<Tx>(given: unknown[]): [name: unknown[], body: Body<Tx>] {
  const body = given.at(-1)
  if (typeof body === 'function' && !isTemplate(given[0])) return [given.slice(0, -1), body as Body<Tx>]
  return [[], (inner) => Reflect.apply(inner as unknown as () => unknown, undefined, given)]
}

function isTemplate(given: unknown): boolean {
  return Array.isArray(given) && 'raw' in given
}

/**
 * The end of a savepoint is the library's own statement, and passes no guard. Sent too late it would fail in a transaction that
 * is another's by then. So a function that outlives its time is left where it stands, and only who waits for it hears of it.
 */
function leftWhenLate<Tx>(
  body: Body<Tx>,
  mayEnd: () => boolean,
  open: (body: (inner: Tx) => Promise<unknown>) => Promise<unknown>,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const left = (error: unknown) => {
      reject(error)
      return new Promise<never>(() => {})
    }
    open(async (inner) => {
      try {
        const made = body(inner)
        const value: unknown = await (Array.isArray(made) ? Promise.all(made) : made)
        return mayEnd() ? value : left(endedTransaction())
      } catch (error) {
        if (mayEnd()) throw error
        return left(error)
      }
    }).then(resolve, reject)
  })
}

/** A statement of this library, which it sends only when somebody waits for it. */
interface Lazy {
  handler: (statement: Lazy) => unknown
  resolve: (value: unknown) => unknown
  reject: (error: unknown) => unknown
}

/** Looks at a statement in the moment in which it would be sent. */
function watched(made: unknown, course: Course, maySend: () => boolean): unknown {
  const statement = made as Partial<Lazy & PromiseLike<unknown>> | undefined
  if (typeof statement?.then !== 'function') return made
  if (typeof statement.handler !== 'function' || typeof statement.reject !== 'function') throw unknownVersion()
  const send = statement.handler
  statement.handler = (sent) => {
    if (!maySend()) return sent.reject(endedTransaction())
    const { resolve, reject } = sent
    course.open++
    course.sentAt = systemClock.elapsed()
    course.silence.owes()
    const answered = () => {
      course.silence.answered()
      course.open--
    }
    sent.resolve = (value) => {
      answered()
      return resolve(value)
    }
    sent.reject = (error) => {
      answered()
      // Before anybody hears of it, who might send the next one at once.
      if (isLoss(error)) course.stage = 'over'
      return reject(error)
    }
    return send(sent)
  }
  return made
}

function unknownVersion(): HapaxError {
  return new HapaxError('store_unknown', 'This version of postgres.js is not known here. Use 3.4, or pg.')
}

function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = () => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}
