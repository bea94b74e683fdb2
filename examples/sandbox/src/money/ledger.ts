import type { Rows } from '../database/database.js'
import { newId } from '../web/ids.js'
import { Problem } from '../web/problem.js'
import { amountOf } from './amounts.js'
import type { Currency } from './currencies.js'

/** Whose money it is. What belongs to a user, an order or a withdrawal cannot be less than nothing; the world may owe. */
export type Account = `user:${string}` | `order:${string}` | `withdrawal:${string}` | `world:${string}`

export interface Transfer {
  readonly tenant: string
  /** What it happens for. A second transfer for the same cause is refused by the database. */
  readonly cause: string
  readonly from: Account
  readonly to: Account
  /** In minor units. */
  readonly amount: bigint
  readonly currency: Currency
}

/**
 * Moves money from one account to another: two entries that sum to zero, and both balances, in the transaction of whatever
 * they happen for. Refuses to take what is not there.
 */
export async function transfer(rows: Rows, { tenant, cause, from, to, amount, currency }: Transfer): Promise<void> {
  const { db } = rows
  const id = newId('tr')
  const entries = [
    { account_id: from, amount: -amount },
    { account_id: to, amount },
  ].map((entry) => ({ ...entry, transfer_id: id, currency }))
  await rows.run(db.insertInto('transfers').values({ id, tenant, cause, created_at: new Date().toISOString() }))
  await rows.run(db.insertInto('entries').values(entries))
  // Always in one order, so that two transfers between the same accounts never wait for each other.
  const sorted = entries.sort((one, other) => (one.account_id < other.account_id ? -1 : 1))
  for (const entry of sorted) await change(rows, tenant, entry.account_id, currency, entry.amount)
}

async function change(rows: Rows, tenant: string, id: Account, currency: Currency, by: bigint): Promise<void> {
  const { db } = rows
  const insert = db
    .insertInto('accounts')
    .values({ tenant, id, currency, balance: by })
    .onConflict((conflict) =>
      conflict
        .columns(['tenant', 'id', 'currency'])
        .doUpdateSet(({ eb, ref }) => ({ balance: eb('accounts.balance', '+', ref('excluded.balance')) })),
    )
    .returning('balance')
  const [account] = await rows.run(insert)
  const balance = BigInt(String(account?.balance))
  if (balance < 0n && !id.startsWith('world:')) throw insufficient(balance - by, -by, currency)
}

/** Thrown inside the transaction, so that nothing of it stays. */
function insufficient(has: bigint, needs: bigint, currency: Currency): Problem {
  return new Problem({
    status: 409,
    code: 'insufficient_funds',
    title: 'There is not enough money.',
    detail: `This takes ${amountOf(needs)} ${currency}, and there are ${amountOf(has)} ${currency}.`,
  })
}
