import type { CompiledQuery, ExpressionBuilder, Kysely } from 'kysely'
import type { PaymentRequest } from './payment-request.js'

/** The sandbox's own table, as queries that are built once and run on SQLite and PostgreSQL alike. */

export interface Payment extends PaymentRequest {
  readonly id: string
  readonly tenant: string
  /** `created` where there is no card processor; otherwise `pending` until it has answered. */
  readonly status: 'created' | 'pending' | 'succeeded' | 'declined'
  /** ISO 8601, in UTC. */
  readonly createdAt: string
}

export interface PaymentTables {
  payments: PaymentRow
}

interface PaymentRow {
  id: string
  tenant: string
  customer_id: string
  amount_cents: number
  currency: string
  /** JSON as text, which no database reorders. */
  metadata: string
  status: string
  created_at: string
}

export function createPaymentsTable(db: Kysely<PaymentTables>): CompiledQuery {
  return db.schema
    .createTable('payments')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('customer_id', 'text', (column) => column.notNull())
    .addColumn('amount_cents', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('metadata', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .compile()
}

export function insertPayment(db: Kysely<PaymentTables>, payment: Payment): CompiledQuery {
  const { id, tenant, customerId, amountCents, currency, metadata, status, createdAt } = payment
  return db
    .insertInto('payments')
    .values({
      id,
      tenant,
      customer_id: customerId,
      amount_cents: amountCents,
      currency,
      metadata: JSON.stringify(metadata),
      status,
      created_at: createdAt,
    })
    .compile()
}

export function setPaymentStatus(db: Kysely<PaymentTables>, id: string, status: Payment['status']): CompiledQuery {
  return db.updateTable('payments').set({ status }).where('id', '=', id).compile()
}

/** The last one first, from behind `after` on. */
export function listPayments(
  db: Kysely<PaymentTables>,
  tenant: string,
  limit: number,
  after: string | undefined,
): CompiledQuery {
  const mine = db.selectFrom('payments').selectAll().where('tenant', '=', tenant)
  const rest = after === undefined ? mine : mine.where(isBehind(db, tenant, after))
  return rest.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).compile()
}

/** Several may be of the same millisecond, and their ids are random. */
function isBehind(db: Kysely<PaymentTables>, tenant: string, after: string) {
  const time = db.selectFrom('payments').select('created_at').where('tenant', '=', tenant).where('id', '=', after)
  return ({ eb, or, and }: ExpressionBuilder<PaymentTables, 'payments'>) =>
    or([eb('created_at', '<', time), and([eb('created_at', '=', time), eb('id', '<', after)])])
}

/** Asks for the tenant too: to everybody else the payment does not exist. */
export function findPayment(db: Kysely<PaymentTables>, tenant: string, id: string): CompiledQuery {
  return db.selectFrom('payments').selectAll().where('tenant', '=', tenant).where('id', '=', id).compile()
}

/** What a row says. A 64-bit integer comes out of SQLite as a number and out of `pg` as a text; both end here. */
export function paymentOf(row: Readonly<Record<string, unknown>>): Payment {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    customerId: String(row.customer_id),
    amountCents: Number(row.amount_cents),
    currency: row.currency as Payment['currency'],
    metadata: JSON.parse(String(row.metadata)),
    status: row.status as Payment['status'],
    createdAt: String(row.created_at),
  }
}

/** A payment as clients see it. */
export function shownPayment({ id, customerId, amountCents, currency, metadata, status, createdAt }: Payment) {
  return { id, customerId, amountCents, currency, metadata, status, createdAt }
}
