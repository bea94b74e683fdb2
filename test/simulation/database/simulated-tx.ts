import { endedTransaction } from '../../../src/stores/postgres/faults.js'
import type { Transaction } from './cells.js'
import type { BusinessRow } from './database.js'
import type { Line } from './line.js'
import { serverError } from './server-error.js'
import { put, seen, writerOf } from './table.js'

/** What an application writes its own rows with. */
export interface SimulatedTx {
  /** No two rows of a table share an id: waits for another transaction that has written the same, and fails if it is there then. */
  insert(table: string, id: string, row?: unknown): Promise<void>
  get(table: string, id: string): Promise<BusinessRow | undefined>
  /** For whoever joins it. */
  readonly transaction: Transaction
}

export function simulatedTx(line: Line, transaction: Transaction): SimulatedTx {
  const { rows } = line.database.tables
  const sealed = () => transaction.stage !== 'open'
  return {
    transaction,
    async insert(table, id, row) {
      if (sealed()) throw endedTransaction()
      const address = `${table}\n${id}`
      await line.say(transaction, () => `inserts ${id} into ${table}`, {
        waitsFor: () => writerOf(rows, address, transaction),
        run() {
          if (seen(rows, address, transaction) !== undefined) throw serverError('23505')
          put(rows, address, { table, id, row }, transaction)
        },
      })
    },
    async get(table, id) {
      if (sealed()) throw endedTransaction()
      const run = () => seen(rows, `${table}\n${id}`, transaction)
      return line.say(transaction, () => `reads ${id} of ${table}`, { run })
    },
  }
}

/** The same transaction, for somebody who may send only for a while. */
export function sealedTx({ transaction, insert, get }: SimulatedTx, maySend: () => boolean): SimulatedTx {
  return {
    transaction,
    async insert(table, id, row) {
      if (!maySend()) throw endedTransaction()
      await insert(table, id, row)
    },
    async get(table, id) {
      if (!maySend()) throw endedTransaction()
      return get(table, id)
    },
  }
}
