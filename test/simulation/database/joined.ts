import type { Joining } from '../../../src/stores/postgres/single/joined.js'
import { queryIn } from './asked-deed.js'
import { undoableIn } from './committing.js'
import type { Line } from './line.js'
import { type SimulatedTx, sealedTx } from './simulated-tx.js'

/** How the store works in a transaction that the caller opened, and will end himself. */
export function joiningOf(line: Line, tx: SimulatedTx): Joining<SimulatedTx> {
  const { transaction } = tx
  const undoable = undoableIn(transaction, tx)
  const query = queryIn(line, transaction)
  return { outer: undoable, inner: () => ({ query, undoable }), sealed: sealedTx }
}
