import type { Updateable } from 'kysely'
import type { Row, Rows } from '../database/database.js'
import { amountOf } from '../money/amounts.js'
import type { Currency } from '../money/currencies.js'
import type { MarketplaceTables } from './tables.js'

/** Orders as rows: who takes one, and how it is shown. */

export type OrderStatus =
  | 'ORDER_CREATED'
  | 'FUNDS_RESERVED'
  | 'ESCROW_CREATING'
  | 'ESCROW_FUNDING'
  | 'ESCROW_FUNDED'
  | 'RELEASED'
  | 'REFUNDED'

/** What Trustless Work may be asked about an order. */
export type Moving = 'escrow' | 'fund' | 'release' | 'refund' | 'dispute' | 'resolve'

export interface Order {
  readonly id: string
  readonly tenant: string
  readonly buyerId: string
  readonly sellerId: string
  readonly amount: bigint
  readonly currency: Currency
  readonly clientOrderRef: string | null
  readonly status: OrderStatus
  readonly moving: Moving | null
  readonly escrowId: string | null
  /** `null` until Trustless Work has it: before that there is no escrow, only its name. */
  readonly partnerEscrowId: string | null
  readonly escrowCreatedAt: string | null
  readonly disputeId: string | null
  readonly createdAt: string
  readonly updatedAt: string
}

/** An order of a tenant. */
export interface OrderName {
  readonly tenant: string
  readonly orderId: string
}

export async function findOrder({ db, run }: Rows, { tenant, orderId }: OrderName): Promise<Order | undefined> {
  const query = db.selectFrom('orders').selectAll().where('tenant', '=', tenant).where('id', '=', orderId)
  const [row] = await run(query)
  return row && orderOf(row)
}

/** For one that is known to exist. */
export async function theOrder(rows: Rows, name: OrderName): Promise<Order> {
  const order = await findOrder(rows, name)
  if (order === undefined) throw new Error(`order ${name.orderId} is gone`)
  return order
}

/**
 * Takes an order, if it is as it was when it was looked at and nobody else is at it. Of two requests one gets it, whatever
 * their keys are; `undefined` is for the other.
 */
export async function takeOrder(
  rows: Rows,
  { tenant, orderId }: OrderName,
  { from, where, ...changes }: Taking,
): Promise<Order | undefined> {
  const query = rows.db
    .updateTable('orders')
    .set({ ...changes, updated_at: new Date().toISOString() })
    .where('tenant', '=', tenant)
    .where('id', '=', orderId)
    .where('status', '=', from)
    .where('moving', 'is', null)
  const taking = where === 'undisputed' ? query.where('dispute_id', 'is', null) : query
  const [row] = await rows.run(taking.returningAll())
  return row && orderOf(row)
}

/** What it must be like, and what it becomes. */
interface Taking extends Changes {
  readonly from: OrderStatus
  readonly where?: 'undisputed'
}

/** Writes down how it went with an order that was taken, and lets others at it. */
export async function leaveOrder(rows: Rows, { tenant, orderId }: OrderName, changes: Changes): Promise<Order> {
  const query = rows.db
    .updateTable('orders')
    .set({ ...changes, moving: null, updated_at: new Date().toISOString() })
    .where('tenant', '=', tenant)
    .where('id', '=', orderId)
    .returningAll()
  const [row] = await rows.run(query)
  if (row === undefined) throw new Error(`order ${orderId} is gone`)
  return orderOf(row)
}

type Changes = Updateable<MarketplaceTables['orders']>

/** As clients see it. */
export function shownOrder(order: Order) {
  const { id, status, buyerId, sellerId, amount, currency, clientOrderRef, escrowId, disputeId } = order
  const hasEscrow = order.partnerEscrowId !== null
  return {
    id,
    order_id: id,
    status,
    buyer_id: buyerId,
    seller_id: sellerId,
    amount: amountOf(amount),
    currency,
    client_order_ref: clientOrderRef,
    escrow_id: hasEscrow ? escrowId : null,
    dispute_id: disputeId,
    created_at: order.createdAt,
    updated_at: order.updatedAt,
  }
}

/** The escrow of an order that has one. It lives and ends with the order. */
export function shownEscrow({ id, escrowId, status, amount, currency, escrowCreatedAt, updatedAt }: Order) {
  return {
    id: escrowId,
    escrow_id: escrowId,
    order_id: id,
    status,
    amount: amountOf(amount),
    currency,
    created_at: escrowCreatedAt,
    updated_at: updatedAt,
  }
}

/** What a row says. A 64-bit integer comes out of SQLite as a number and out of `pg` as a text; both end here. */
export function orderOf(row: Row): Order {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    buyerId: String(row.buyer_id),
    sellerId: String(row.seller_id),
    amount: BigInt(String(row.amount)),
    currency: row.currency as Currency,
    clientOrderRef: row.client_order_ref as string | null,
    status: row.status as OrderStatus,
    moving: row.moving as Moving | null,
    escrowId: row.escrow_id as string | null,
    partnerEscrowId: row.partner_escrow_id as string | null,
    escrowCreatedAt: row.escrow_created_at as string | null,
    disputeId: row.dispute_id as string | null,
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at),
  }
}
