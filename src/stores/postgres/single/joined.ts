import type { Session, Undoable } from '../connections.js'
import { storeError } from '../faults.js'
import type { OpenCommit } from '../in-one-commit.js'
import { spoken } from '../transactions/source.js'
import { byNesting, bySavepoint, type Nesting } from '../undoable.js'

/**
 * Work in a transaction that the caller opened, and will end himself. All of it stands behind a savepoint, so that whatever
 * fails of ours leaves his transaction as it was.
 */
export async function inJoined<Tx, T>(given: unknown, run: (open: OpenCommit<Tx>) => Promise<T>): Promise<T> {
  let thrown: { readonly byBody: unknown } | undefined
  const { outer, inner } = joining<Tx>(given)
  try {
    return await outer(
      (tx) => {
        const { query, undoable } = inner(tx)
        const saidOn = async <S>(tx: Tx, body: (tx: Tx) => Promise<S>) => {
          try {
            return await body(tx)
          } catch (error) {
            thrown = { byBody: error }
            throw error
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

interface Joining<Tx> {
  readonly outer: Undoable<Tx>
  readonly inner: (tx: Tx) => { readonly query: Session<Tx>['query']; readonly undoable: Undoable<Tx> }
}

/** By statements wherever they do; postgres.js wants to know of a savepoint. */
function joining<Tx>(given: unknown): Joining<Tx> {
  const tx = given as Tx
  if (isNesting(given)) {
    const inner = (tx: Tx) => ({ query: spoken(tx).query, undoable: byNesting<Tx>(tx as Nesting) })
    return { outer: byNesting<Tx>(given), inner }
  }
  const { query } = spoken(given)
  return {
    outer: bySavepoint(tx, query, 'hapax_single'),
    inner: () => ({ query, undoable: bySavepoint(tx, query, 'hapax_rows') }),
  }
}

function isNesting(given: unknown): given is Nesting {
  const { unsafe, savepoint } = (given ?? {}) as { unsafe?: unknown; savepoint?: unknown }
  return typeof unsafe === 'function' && typeof savepoint === 'function'
}
