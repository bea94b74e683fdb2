import type { CompiledQuery, SchemaModule } from 'kysely'

/** Amounts are whole minor units. What is `null` is not known yet. */
export interface MarketplaceTables {
  orders: {
    id: string
    tenant: string
    buyer_id: string
    seller_id: string
    amount: bigint
    currency: string
    client_order_ref: string | null
    status: string
    /** What a request is doing about it at Trustless Work right now. One at a time. */
    moving: string | null
    /** Ours, made before the escrow is. */
    escrow_id: string | null
    /** Theirs. */
    partner_escrow_id: string | null
    /** When they had it. */
    escrow_created_at: string | null
    /** The last that their webhooks said of it, and when that was. */
    partner_status: string | null
    partner_updated_at: string | null
    dispute_id: string | null
    created_at: string
    updated_at: string
  }
  disputes: {
    id: string
    tenant: string
    order_id: string
    reason: string | null
    status: string
    decision: string | null
    created_at: string
    resolved_at: string | null
  }
  topups: {
    id: string
    tenant: string
    user_id: string
    amount: bigint
    currency: string
    status: string
    partner_id: string | null
    /** The key under which Airtm was asked. */
    partner_key: string | null
    confirmation_uri: string | null
    created_at: string
    updated_at: string
  }
  withdrawals: {
    id: string
    tenant: string
    user_id: string
    amount: bigint
    currency: string
    destination: string
    status: string
    partner_id: string | null
    partner_key: string | null
    created_at: string
    updated_at: string
  }
}

export function createMarketplaceTables(schema: SchemaModule): readonly CompiledQuery[] {
  return [ordersTable(schema), disputesTable(schema), topupsTable(schema), withdrawalsTable(schema)]
}

function ordersTable(schema: SchemaModule): CompiledQuery {
  return (
    schema
      .createTable('orders')
      .ifNotExists()
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('buyer_id', 'text', (column) => column.notNull())
      .addColumn('seller_id', 'text', (column) => column.notNull())
      .addColumn('amount', 'bigint', (column) => column.notNull())
      .addColumn('currency', 'text', (column) => column.notNull())
      .addColumn('client_order_ref', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('moving', 'text')
      .addColumn('escrow_id', 'text')
      .addColumn('partner_escrow_id', 'text')
      .addColumn('escrow_created_at', 'text')
      .addColumn('partner_status', 'text')
      .addColumn('partner_updated_at', 'text')
      .addColumn('dispute_id', 'text')
      .addColumn('created_at', 'text', (column) => column.notNull())
      .addColumn('updated_at', 'text', (column) => column.notNull())
      // What a client calls its order is one order, whatever keys it comes with. Those without a name are not compared.
      .addUniqueConstraint('orders_ref', ['tenant', 'client_order_ref'])
      .compile()
  )
}

function disputesTable(schema: SchemaModule): CompiledQuery {
  return schema
    .createTable('disputes')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('order_id', 'text', (column) => column.notNull().unique())
    .addColumn('reason', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('decision', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('resolved_at', 'text')
    .compile()
}

function topupsTable(schema: SchemaModule): CompiledQuery {
  return schema
    .createTable('topups')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('partner_id', 'text')
    .addColumn('partner_key', 'text')
    .addColumn('confirmation_uri', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .compile()
}

function withdrawalsTable(schema: SchemaModule): CompiledQuery {
  return schema
    .createTable('withdrawals')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('destination', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('partner_id', 'text')
    .addColumn('partner_key', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .compile()
}
