import type { CompiledQuery, Kysely, SchemaModule } from 'kysely'
import { newId } from '../web/ids.js'
import type { WithdrawalRequest } from './withdrawal-request.js'

export interface Withdrawal extends WithdrawalRequest {
  readonly id: string
  readonly tenant: string
  readonly status: 'pending' | 'completed' | 'declined'
  /** ISO 8601, in UTC. */
  readonly createdAt: string
}

export interface WithdrawalTables {
  bank_withdrawals: {
    id: string
    tenant: string
    amount: number
    currency: string
    description: string
    customer: string
    status: string
    created_at: string
  }
}

type Queries = Kysely<WithdrawalTables>

export function createWithdrawalsTable(schema: SchemaModule): CompiledQuery {
  return schema
    .createTable('bank_withdrawals')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('customer', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .compile()
}

export function newWithdrawal(tenant: string, asked: WithdrawalRequest): Withdrawal {
  return { ...asked, id: newId('wd'), tenant, status: 'pending', createdAt: new Date().toISOString() }
}

export function insertWithdrawal(db: Queries, { createdAt, ...row }: Withdrawal): CompiledQuery {
  return db
    .insertInto('bank_withdrawals')
    .values({ ...row, created_at: createdAt })
    .compile()
}

export function setWithdrawalStatus(db: Queries, id: string, status: Withdrawal['status']): CompiledQuery {
  return db.updateTable('bank_withdrawals').set({ status }).where('id', '=', id).compile()
}

/** Asks for the tenant too: to everybody else the withdrawal does not exist. */
export function findWithdrawal(db: Queries, tenant: string, id: string): CompiledQuery {
  return db.selectFrom('bank_withdrawals').selectAll().where('tenant', '=', tenant).where('id', '=', id).compile()
}

export function withdrawalOf(row: Readonly<Record<string, unknown>>): Withdrawal {
  return {
    id: String(row.id),
    tenant: String(row.tenant),
    amount: Number(row.amount),
    currency: String(row.currency),
    description: String(row.description),
    customer: String(row.customer),
    status: row.status as Withdrawal['status'],
    createdAt: String(row.created_at),
  }
}

/** A withdrawal as clients see it. */
export function shownWithdrawal({ id, status, amount, currency, description, customer, createdAt }: Withdrawal) {
  return { id, status, amount, currency, description, customer, createdAt }
}
