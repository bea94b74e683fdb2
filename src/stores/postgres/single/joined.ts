import type { Progress, Session, Undoable } from '../connections.js'
import { storeError } from '../faults.js'
import type { OpenCommit } from '../in-one-commit.js'
import { spoken } from '../transactions/source.js'
import { behind, byNesting, bySavepoint, type Nesting, released, rowsSavepoint } from '../undoable.js'

/**
 * Work in a transaction that the caller opened, and will end himself. All of it stands behind a savepoint, so that whatever
 * fails of ours leaves his transaction as it was. The handler has it until its function is over, by itself or because its
 * time is: from then on it is the caller's alone, who would commit whatever came later with his own rows.
 */
export async function inJoined<Tx, T>(
  given: unknown,
  run: (open: Omit<OpenCommit<Tx>, 'opened'>) => Promise<T>,
): Promise<T> {
  let thrown: { readonly byBody: unknown } | undefined
  const progress: Progress = { stage: 'open' }
  const { outer, inner } = joining<Tx>(given)
  try {
    return await outer(
      (tx) => {
        const { query, undoable } = inner(tx)
        const saidOn = async <S>(tx: Tx, body: (tx: Tx) => Promise<S>) => {
          try {
            return await body(spoken(tx).sealed(() => progress.stage === 'open') as Tx)
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

interface Joining<Tx> {
  readonly outer: Undoable<Tx>
  readonly inner: (tx: Tx) => { readonly query: Session<Tx>['query']; readonly undoable: Undoable<Tx> }
}

/** By statements wherever they do; postgres.js wants to know of a savepoint, and says its name to nobody. */
function joining<Tx>(given: unknown): Joining<Tx> {
  const tx = given as Tx
  const { query } = spoken(given)
  if (isNesting(given)) {
    const inner = (tx: Tx) => ({ query: spoken(tx).query, undoable: byNesting<Tx>(tx as Nesting) })
    return { outer: released(behind(byNesting<Tx>(given), query, ours), query, ours), inner }
  }
  return {
    outer: released(bySavepoint(tx, query, ours), query, ours),
    inner: () => ({ query, undoable: bySavepoint(tx, query, rowsSavepoint) }),
  }
}

const ours = 'hapax_single'

function isNesting(given: unknown): given is Nesting {
  const { unsafe, savepoint } = (given ?? {}) as { unsafe?: unknown; savepoint?: unknown }
  return typeof unsafe === 'function' && typeof savepoint === 'function'
}
