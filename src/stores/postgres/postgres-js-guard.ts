import { systemClock } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Progress } from './connections.js'
import { endedTransaction, isLoss } from './faults.js'
import type { Silence } from './silence.js'

/** A transaction of postgres.js, as far as it is used here, and how somebody gets it who may send only for a while. */

export interface PostgresJsTransaction {
  unsafe(text: string, values?: never[], options?: { prepare?: boolean }): { raw(): PromiseLike<unknown> }
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

export function isOver({ stage }: Course): boolean {
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
