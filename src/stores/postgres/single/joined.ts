import type { Progress, Session, Undoable } from '../connections.js'
import { storeError } from '../faults.js'
import type { OpenCommit } from '../in-one-commit.js'

/** How the store works in a transaction that is not its own. */
export interface Joining<Tx> {
  /** Behind a savepoint of the store's. */
  readonly outer: Undoable<Tx>
  /** What is said there, and a savepoint for the rows of the application. */
  readonly inner: (tx: Tx) => { readonly query: Session<Tx>['query']; readonly undoable: Undoable<Tx> }
  /** The same transaction, for somebody who may send only for a while. */
  readonly sealed: (tx: Tx, maySend: () => boolean) => Tx
}

/**
 * Work in a transaction that the caller opened, and will end himself. All of it stands behind a savepoint, so that whatever
 * fails of ours leaves his transaction as it was. The handler has it until its function is over, by itself or because its
 * time is: from then on it is the caller's alone, who would commit whatever came later with his own rows.
 */
export async function inJoined<Tx, T>(
  { outer, inner, sealed }: Joining<Tx>,
  run: (open: Omit<OpenCommit<Tx>, 'opened'>) => Promise<T>,
): Promise<T> {
  let thrown: { readonly byBody: unknown } | undefined
  const progress: Progress = { stage: 'open' }
  try {
    return await outer(
      (tx) => {
        const { query, undoable } = inner(tx)
        const saidOn = async <S>(tx: Tx, body: (tx: Tx) => Promise<S>) => {
          try {
            return await body(sealed(tx, () => progress.stage === 'open'))
          } catch (error) {
            thrown = { byBody: error }
            throw error
          } finally {
            progress.stage = 'sealed'
          }
        }
        return run({
          query,
          said: (body) => saidOn(tx, body),
          undoable: (body, isUndone) => undoable((tx) => saidOn(tx, body), isUndone),
        })
      },
      () => false,
    )
  } catch (error) {
    throw thrown !== undefined && thrown.byBody === error ? error : storeError(error)
  }
}
