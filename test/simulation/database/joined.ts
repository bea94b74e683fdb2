import { storeError } from '../../../src/stores/postgres/faults.js'
import { type Open, undoableIn } from './committing.js'
import type { SimulatedTx } from './simulated-tx.js'

/**
 * Work in a transaction that the caller opened, and will end himself. All of it stands behind a savepoint, so that whatever
 * fails of ours leaves his transaction as it was.
 */
export async function inJoined<T>(given: unknown, run: (open: Omit<Open, 'lastly'>) => Promise<T>): Promise<T> {
  const tx = given as SimulatedTx
  const { transaction } = tx
  let thrown: { readonly byBody: unknown } | undefined
  const said: Open['said'] = async (body) => {
    try {
      return await body(tx)
    } catch (error) {
      thrown = { byBody: error }
      throw error
    }
  }
  const undoable = undoableIn(transaction, tx)
  const open: Omit<Open, 'lastly'> = {
    transaction,
    said,
    undoable: (body, isUndone) => undoable(() => said(body), isUndone),
  }
  try {
    return await undoable(
      () => run(open),
      () => false,
    )
  } catch (error) {
    throw thrown !== undefined && thrown.byBody === error ? error : storeError(error)
  }
}
