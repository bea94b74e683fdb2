import type { Session, Undoable } from '../../../src/stores/postgres/connections.js'
import { type Closing, type Ending, inOneCommit, type OpenCommit } from '../../../src/stores/postgres/in-one-commit.js'
import { queryIn, statementIn } from './asked-deed.js'
import type { Transaction } from './cells.js'
import type { Line, Statement } from './line.js'
import { type SimulatedTx, simulatedTx } from './simulated-tx.js'
import { commit, rollBack, undoTo } from './transaction.js'

/** A transaction as one of the store's steps writes it. */
export interface Open extends Pick<OpenCommit<SimulatedTx>, 'query' | 'said' | 'undoable'> {
  readonly transaction: Transaction
}

/** Whatever the application and the store write together, settled by the PostgreSQL store's own code. */
export function inOneTransaction<T>(
  line: Line,
  subject: () => string,
  run: (open: Open) => Promise<Ending<T> | Closing<T>>,
): Promise<T> {
  const transaction = line.begin()
  const tx = simulatedTx(line, transaction)
  let last: Statement<void> | undefined
  const session: Session<SimulatedTx> = {
    tx,
    opened: [],
    // It travels with COMMIT: where it fails nothing is committed.
    last({ asked: [only] }) {
      last = only && statementIn(only)
    },
    query: queryIn(line, transaction),
    undoable: undoableIn(transaction, tx),
    seal() {
      if (transaction.stage === 'open') transaction.stage = 'sealed'
    },
  }
  const connections = {
    async transaction<S>(body: (session: Session<SimulatedTx>) => Promise<S>): Promise<S> {
      try {
        const value = await whileOnLine(transaction, () => body(session))
        await committed(line, transaction, subject, last)
        return value
      } finally {
        rollBack(transaction)
      }
    },
  }
  return inOneCommit(connections, ({ query, said, undoable }) => run({ transaction, query, said, undoable }))
}

/** Whoever waits for it hears at once when the line breaks. */
function whileOnLine<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    transaction.lose = reject
    work().then(resolve, reject)
  })
}

export function committed(
  line: Line,
  transaction: Transaction,
  subject: () => string,
  last?: Statement<void>,
): Promise<void> {
  const ending = {
    ...(last?.waitsFor && { waitsFor: last.waitsFor }),
    run() {
      last?.run()
      commit(transaction)
    },
  }
  return line.say(transaction, () => `commits ${subject()}`, ending, 'commit')
}

/** Behind a savepoint. */
export function undoableIn(transaction: Transaction, tx: SimulatedTx): Undoable<SimulatedTx> {
  return async (body, isUndone) => {
    const place = transaction.log.length
    const outer = transaction.savepoint
    transaction.savepoint = place
    try {
      const value = await body(tx)
      if (isUndone(value)) undoTo(transaction, place)
      return value
    } catch (error) {
      undoTo(transaction, place)
      throw error
    } finally {
      transaction.savepoint = outer
    }
  }
}
