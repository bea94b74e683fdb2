import type { Updateable } from 'kysely'
import type { Row, Rows } from '../database/database.js'
import { amountOf, minorUnitsOf } from '../money/amounts.js'
import type { Currency } from '../money/currencies.js'
import { transfer } from '../money/ledger.js'
import type { TopupRequest } from './requests.js'
import type { MarketplaceTables } from './tables.js'

/** Top-ups as rows: money that comes from Airtm, which says when it is there. */
export interface Topup {
  readonly id: string
  readonly tenant: string
  readonly userId: string
  readonly amount: bigint
  readonly currency: Currency
  readonly status: 'PENDING' | 'CONFIRMED' | 'FAILED'
  /** The key under which Airtm was asked. */
  readonly partnerKey: string | null
  readonly confirmationUri: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

export async function insertTopup(
  { db, run }: Rows,
  { id, tenant, userId, amount, currency }: TopupRequest & { readonly id: string; readonly tenant: string },
): Promise<void> {
  const now = new Date().toISOString()
  const row = { id, tenant, user_id: userId, amount: minorUnitsOf(amount) ?? 0n, currency, status: 'PENDING' }
  await run(db.insertInto('topups').values({ ...row, created_at: now, updated_at: now }))
}

export async function findTopup({ db, run }: Rows, tenant: string, id: string): Promise<Topup | undefined> {
  const [row] = await run(db.selectFrom('topups').selectAll().where('tenant', '=', tenant).where('id', '=', id))
  return row && topupOf(row)
}

export async function changeTopup(
  { db, run }: Rows,
  id: string,
  changes: Updateable<MarketplaceTables['topups']>,
): Promise<Topup> {
  const set = { ...changes, updated_at: new Date().toISOString() }
  const [row] = await run(db.updateTable('topups').set(set).where('id', '=', id).returningAll())
  if (row === undefined) throw new Error(`top-up ${id} is gone`)
  return topupOf(row)
}

/** The money is there. Whoever says so first, a webhook or a question of ours, gives it to the user; nobody else does. */
export async function confirmTopup(rows: Rows, id: string): Promise<void> {
  const { db, run } = rows
  const query = db
    .updateTable('topups')
    .set({ status: 'CONFIRMED', updated_at: new Date().toISOString() })
    .where('id', '=', id)
    .where('status', '=', 'PENDING')
    .returningAll()
  const [row] = await run(query)
  if (row === undefined) return
  const { tenant, userId, amount, currency } = topupOf(row)
  const cause = `topup_confirmed:${id}`
  await transfer(rows, { tenant, cause, from: 'world:airtm', to: `user:${userId}`, amount, currency })
}

/** As clients see it. */
export function shownTopup({ id, userId, status, amount, currency, confirmationUri, createdAt, updatedAt }: Topup) {
  return {
    id,
    topup_id: id,
    status,
    user_id: userId,
    amount: amountOf(amount),
    currency,
    confirmation_uri: confirmationUri,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

export function topupOf(row: Row): Topup {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    userId: String(row.user_id),
    amount: BigInt(String(row.amount)),
    currency: row.currency as Currency,
    status: row.status as Topup['status'],
    partnerKey: row.partner_key as string | null,
    confirmationUri: row.confirmation_uri as string | null,
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at),
  }
}
