import { type Clock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { Ask } from './protocol.js'
import type { SqliteTransaction } from './statement.js'

/**
 * A transaction that a handler holds.
 *
 * SQLite has one writer at a time, and so has this store: from BEGIN IMMEDIATE to COMMIT the handler has the write
 * lock of the file and the lane of this process. What becomes of a lease meanwhile is therefore defined:
 *
 * - A renewal that falls due waits in the lane, overtakes everything else there, and is written as soon as the
 *   transaction ends. So it waits for `busyTimeout` and `transactionTimeout` at most, and has two thirds of its lease
 *   left to do so: the default lease outlives that, a lease of under one and a half times their sum may not.
 * - Should the lease run out while it waits, nobody can take the claim, in this process or another: to take it
 *   needs the write lock that the transaction holds. Others get `store_busy` after their busy timeout.
 * - The fenced write is the last statement before COMMIT, judged at that instant. A checkpoint renews the lease in
 *   the same commit. A claim that was already lost before BEGIN is found out here, and all of it rolls back.
 * - When the bound passes first, the transaction is rolled back; whatever the handler still sends is refused. When
 *   the thread does not even answer the ROLLBACK it is given up, and its connection rolls back as it closes.
 */
export async function holdTransaction<R>({ ask, clock, timeoutMs }: Holding, body: Held<R>): Promise<R> {
  let over: HapaxError | undefined
  const tx: SqliteTransaction = {
    run: async ({ sql, parameters = [] }) => {
      if (over !== undefined) throw over
      return ask('run', { sql, parameters })
    },
  }
  await ask('begin')
  try {
    const end = await within(clock, timeoutMs, body(tx), () => {
      over = timedOut(timeoutMs)
      return over
    })
    over = ended()
    return await end()
  } catch (error) {
    over ??= ended()
    await ask('rollback').catch(() => undefined)
    throw error
  }
}

/** What runs in a transaction. It gives back how the transaction ends: the last write, and COMMIT. */
export type Held<R> = (tx: SqliteTransaction) => Promise<() => Promise<R>>

export interface Holding {
  readonly ask: Ask
  readonly clock: Clock
  readonly timeoutMs: number
}

function timedOut(timeoutMs: number): HapaxError {
  const what = `A transaction was held for more than ${timeoutMs} ms and was rolled back.`
  return new HapaxError('transaction_timeout', `${what} Call the outside before or after it, never within.`)
}

function ended(): HapaxError {
  return new HapaxError('transaction_ended', 'This transaction has ended. Run every statement before its body returns.')
}
