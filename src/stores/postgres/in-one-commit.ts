import { HapaxError } from '../../kernel/errors.js'
import type { Connections, Session } from './connections.js'
import { isFarewell, isUndoneCommit, storeError } from './faults.js'

/** A transaction as one of the store's steps writes it. */
export interface OpenCommit<Tx> {
  readonly query: Session<Tx>['query']
  /** What the application says. What it throws is its own, and nothing that it sends comes later. */
  said<S>(body: (tx: Tx) => Promise<S>): Promise<S>
}

/** What a transaction comes to, and how to find out whether it did where the reply to its COMMIT was lost. */
export interface Ending<T> {
  readonly value: T
  readonly isCommitted?: () => Promise<boolean>
}

/**
 * Whatever the application and the store write together. A COMMIT whose reply was lost is settled by looking at what it
 * wrote, on another connection and under a lock that waits for a commit that is still under way. Nothing is guessed, and
 * nothing is cancelled.
 */
export async function inOneCommit<Tx, T>(
  connections: Pick<Connections<Tx>, 'transaction'>,
  run: (open: OpenCommit<Tx>) => Promise<Ending<T>>,
): Promise<T> {
  let thrown: { readonly byBody: unknown } | undefined
  let ending: Ending<T> | undefined
  try {
    const { value } = await connections.transaction(async (session) => {
      const said = async <S>(body: (tx: Tx) => Promise<S>) => {
        try {
          return await body(session.tx)
        } catch (error) {
          thrown = { byBody: error }
          throw error
        } finally {
          session.seal()
        }
      }
      ending = await run({ query: session.query, said })
      return ending
    })
    return value
  } catch (error) {
    // Refused at COMMIT, by a deferred constraint of the application's, say: it is certain that nothing happened.
    if (ending !== undefined && isUndoneCommit(error)) throw error
    if (ending !== undefined && (await isCommitted(ending))) return ending.value
    // What the application threw is the application's: it was rolled back. A lost connection it only passed on.
    throw thrown !== undefined && thrown.byBody === error && !isFarewell(error) ? error : storeError(error)
  }
}

async function isCommitted({ isCommitted }: Ending<unknown>): Promise<boolean> {
  try {
    return (await isCommitted?.()) ?? false
  } catch (error) {
    const message = 'The connection was lost at COMMIT, and nobody could look what became of it.'
    throw new HapaxError('store_failed', message, { cause: error })
  }
}
