import type { CompiledQuery, SchemaModule } from 'kysely'

/** The users of each tenant, and a double-entry ledger: accounts with their balances, and the transfers between them. */
export interface MoneyTables {
  users: { id: string; tenant: string; name: string; created_at: string }
  accounts: { tenant: string; id: string; currency: string; balance: bigint }
  transfers: { id: string; tenant: string; cause: string; created_at: string }
  entries: { transfer_id: string; account_id: string; currency: string; amount: bigint }
}

export function createMoneyTables(schema: SchemaModule): readonly CompiledQuery[] {
  const users = schema
    .createTable('users')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
  const accounts = schema
    .createTable('accounts')
    .ifNotExists()
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('balance', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('accounts_pk', ['tenant', 'id', 'currency'])
  const transfers = schema
    .createTable('transfers')
    .ifNotExists()
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('cause', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    // Money moves once for one cause, whatever else goes wrong.
    .addUniqueConstraint('transfers_cause', ['tenant', 'cause'])
  const entries = schema
    .createTable('entries')
    .ifNotExists()
    .addColumn('transfer_id', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('currency', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('entries_pk', ['transfer_id', 'account_id'])
  return [users, accounts, transfers, entries].map((table) => table.compile())
}
