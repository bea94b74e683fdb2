import { spoken } from '../transactions/source.js'
import { behind, byNesting, bySavepoint, type Nesting, released, rowsSavepoint } from '../undoable.js'
import type { Joining } from './joined.js'

/** By statements wherever they do; postgres.js wants to know of a savepoint, and says its name to nobody. */
export function joiningOf<Tx>(given: unknown): Joining<Tx> {
  const tx = given as Tx
  const { query } = spoken(given)
  const sealed = (tx: Tx, maySend: () => boolean) => spoken(tx).sealed(maySend) as Tx
  if (isNesting(given)) {
    const inner = (tx: Tx) => ({ query: spoken(tx).query, undoable: byNesting<Tx>(tx as Nesting) })
    return { outer: released(behind(byNesting<Tx>(given), query, ours), query, ours), inner, sealed }
  }
  return {
    outer: released(bySavepoint(tx, query, ours), query, ours),
    inner: () => ({ query, undoable: bySavepoint(tx, query, rowsSavepoint) }),
    sealed,
  }
}

const ours = 'hapax_single'

function isNesting(given: unknown): given is Nesting {
  const { unsafe, savepoint } = (given ?? {}) as { unsafe?: unknown; savepoint?: unknown }
  return typeof unsafe === 'function' && typeof savepoint === 'function'
}
