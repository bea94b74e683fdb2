import { HapaxError } from '../../kernel/errors.js'
import type { Asked, Connections, Gave, Opening, Session } from './connections.js'
import { isFarewell, isUndoneCommit, storeError } from './faults.js'
import { bySavepoint, rowsSavepoint } from './undoable.js'

/** A transaction as one of the store's steps writes it. */
export interface OpenCommit<Tx> {
  /** What the statements of its opening gave. */
  readonly opened: Gave
  readonly query: Session<Tx>['query']
  /** What the application says. What it throws is its own, and nothing that it sends comes later. */
  said<S>(body: (tx: Tx) => Promise<S>): Promise<S>
  /** The same, and its rows are undone where `isUndone` says so. */
  undoable<S>(body: (tx: Tx) => Promise<S>, isUndone: (said: S) => boolean): Promise<S>
}

/** What a transaction comes to, and how to find out whether it did where the reply to its COMMIT was lost. */
export interface Ending<T> {
  readonly value: T
  readonly isCommitted?: () => Promise<boolean>
}

/**
 * The same where the last statements travel with COMMIT: what it comes to follows from what they gave, or, where the reply
 * was lost, from what is found.
 */
export interface Closing<T> {
  readonly last: readonly Asked[]
  readonly comesTo: (gave: Gave) => T
  readonly found: () => Promise<{ readonly value: T } | undefined>
}

/**
 * Whatever the application and the store write together. A COMMIT whose reply was lost is settled by looking at what it
 * wrote, on another connection and under a lock that waits for a commit that is still under way. Nothing is guessed, and
 * nothing is cancelled.
 */
export async function inOneCommit<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  run: (open: OpenCommit<Tx>) => Promise<Ending<T> | Closing<T>>,
  opening?: Opening,
): Promise<T> {
  let thrown: { readonly byBody: unknown } | undefined
  let closing: Closing<T> | undefined
  let gave: Gave = []
  try {
    const { comesTo } = await connections.transaction(async (session) => {
      const { opened, query, undoable = bySavepoint(session.tx, query, rowsSavepoint) } = session
      const saidOn = async <S>(tx: Tx, body: (tx: Tx) => Promise<S>) => {
        try {
          return await body(tx)
        } catch (error) {
          thrown = { byBody: error }
          throw error
        } finally {
          session.seal()
        }
      }
      closing = closingOf(
        await run({
          opened,
          query,
          said: (body) => saidOn(session.tx, body),
          undoable: (body, isUndone) => undoable((tx) => saidOn(tx, body), isUndone),
        }),
      )
      const { last: asked } = closing
      const handOn = (given: Gave) => {
        gave = given
      }
      if (asked.length > 0) session.last({ asked, handOn })
      return closing
    }, opening)
    return comesTo(gave)
  } catch (error) {
    // Refused at COMMIT, by a deferred constraint of the application's, say: it is certain that nothing happened.
    if (closing !== undefined && isUndoneCommit(error)) throw error
    const found = closing && (await foundBy(closing))
    if (found !== undefined) return found.value
    // What the application threw is the application's: it was rolled back. A lost connection it only passed on.
    throw thrown !== undefined && thrown.byBody === error && !isFarewell(error) ? error : storeError(error)
  }
}

/** Where all of it is written before COMMIT. */
function closingOf<T>(ending: Ending<T> | Closing<T>): Closing<T> {
  if ('last' in ending) return ending
  const { value, isCommitted } = ending
  return {
    last: [],
    comesTo: () => value,
    found: async () => ((await isCommitted?.()) ? { value } : undefined),
  }
}

async function foundBy<T>({ found }: Closing<T>): Promise<{ readonly value: T } | undefined> {
  try {
    return await found()
  } catch (error) {
    const message = 'The connection was lost at COMMIT, and nobody could look what became of it.'
    throw new HapaxError('store_failed', message, { cause: error })
  }
}
