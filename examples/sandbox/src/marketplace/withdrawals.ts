import type { Updateable } from 'kysely'
import type { Row, Rows } from '../database/database.js'
import { amountOf, minorUnitsOf } from '../money/amounts.js'
import type { Currency } from '../money/currencies.js'
import { transfer } from '../money/ledger.js'
import type { WithdrawalRequest } from './requests.js'
import type { MarketplaceTables } from './tables.js'

/** Withdrawals as rows: money that is set aside first, and then sent by Airtm, which says when it has arrived. */

export type WithdrawalStatus = 'CREATED' | 'COMMITTED' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'CANCELLED'

export interface Withdrawal {
  readonly id: string
  readonly tenant: string
  readonly userId: string
  readonly amount: bigint
  readonly currency: Currency
  readonly destination: { readonly ref: string }
  readonly status: WithdrawalStatus
  /** The key under which Airtm was asked. */
  readonly partnerKey: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export interface WithdrawalName {
  readonly tenant: string
  readonly withdrawalId: string
}

export async function insertWithdrawal(
  { db, run }: Rows,
  given: WithdrawalRequest & { readonly id: string; readonly tenant: string },
): Promise<Withdrawal> {
  const { id, tenant, userId, amount, currency, destination } = given
  const now = new Date().toISOString()
  const row = {
    id,
    tenant,
    user_id: userId,
    amount: minorUnitsOf(amount) ?? 0n,
    currency,
    destination: JSON.stringify(destination),
    status: 'CREATED',
    created_at: now,
    updated_at: now,
  }
  return theOne(await run(db.insertInto('withdrawals').values(row).returningAll()), id)
}

export async function findWithdrawal(
  { db, run }: Rows,
  { tenant, withdrawalId }: WithdrawalName,
): Promise<Withdrawal | undefined> {
  const query = db.selectFrom('withdrawals').selectAll().where('tenant', '=', tenant).where('id', '=', withdrawalId)
  const [row] = await run(query)
  return row && withdrawalOf(row)
}

/** Changes it if it has one of these statuses, and gives it; `undefined` where it does not. */
export async function changeWithdrawal(
  { db, run }: Rows,
  id: string,
  from: readonly WithdrawalStatus[],
  changes: Updateable<MarketplaceTables['withdrawals']>,
): Promise<Withdrawal | undefined> {
  const query = db
    .updateTable('withdrawals')
    .set({ ...changes, updated_at: new Date().toISOString() })
    .where('id', '=', id)
    .where('status', 'in', [...from])
    .returningAll()
  const [row] = await run(query)
  return row && withdrawalOf(row)
}

/** How it ended: the money is gone to where it should, or it is the user's again. Whoever says so first counts. */
export function endWithdrawal(rows: Rows, id: string, status: 'COMPLETED' | 'FAILED'): Promise<void> {
  return end(rows, id, ['COMMITTED', 'PROCESSING'], status)
}

/** Somebody thought better of it, before Airtm was asked. */
export function cancelWithdrawal(rows: Rows, id: string): Promise<void> {
  return end(rows, id, ['CREATED'], 'CANCELLED')
}

async function end(
  rows: Rows,
  id: string,
  from: readonly WithdrawalStatus[],
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
): Promise<void> {
  const ended = await changeWithdrawal(rows, id, from, { status })
  if (ended === undefined) return
  const { tenant, userId, amount, currency } = ended
  const to = status === 'COMPLETED' ? ('world:airtm' as const) : (`user:${userId}` as const)
  const cause = `withdrawal_${status.toLowerCase()}:${id}`
  await transfer(rows, { tenant, cause, from: `withdrawal:${id}`, to, amount, currency })
}

/** As clients see it. */
export function shownWithdrawal(withdrawal: Withdrawal) {
  const { id, userId, status, amount, currency, destination, createdAt, updatedAt } = withdrawal
  return {
    id,
    withdrawal_id: id,
    status,
    user_id: userId,
    amount: amountOf(amount),
    currency,
    destination,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

export function withdrawalOf(row: Row): Withdrawal {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    userId: String(row.user_id),
    amount: BigInt(String(row.amount)),
    currency: row.currency as Currency,
    destination: JSON.parse(String(row.destination)),
    status: row.status as WithdrawalStatus,
    partnerKey: row.partner_key as string | null,
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at),
  }
}

function theOne([row]: readonly Row[], id: string): Withdrawal {
  if (row === undefined) throw new Error(`withdrawal ${id} is gone`)
  return withdrawalOf(row)
}
