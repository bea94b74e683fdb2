import type { Claim } from '../../engine/record.js'
import type { Committed, Step } from '../../engine/store.js'
import { type Clock, within } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import type { ServiceName, Services } from './protocol.js'
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
export async function holdTransaction<T>(
  { ask, clock, timeoutMs }: Holding,
  claim: Claim,
  body: (tx: SqliteTransaction) => Promise<Step<T>>,
): Promise<Committed<T>> {
  let over: HapaxError | undefined
  const tx: SqliteTransaction = {
    run: async ({ sql, parameters = [] }) => {
      if (over !== undefined) throw over
      return ask('run', { sql, parameters })
    },
  }
  await ask('begin')
  try {
    const { value, write } = await within(clock, timeoutMs, body(tx), () => {
      over = timedOut(timeoutMs)
      return over
    })
    over = ended()
    const written = await ask('commit', claim, write)
    if (written === false) throw new HapaxError('claim_lost')
    return { value, expiresAt: written.expiresAt }
  } catch (error) {
    over ??= ended()
    await ask('rollback').catch(() => undefined)
    throw error
  }
}

export interface Holding {
  readonly ask: <K extends ServiceName>(
    service: K,
    ...args: Parameters<Services[K]>
  ) => Promise<ReturnType<Services[K]>>
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
