import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { type Row, type Rows, rowsOf } from '../database/database.js'
import type { Sandbox } from '../sandbox.js'
import { pageOf } from '../web/paging.js'
import { authenticate } from '../web/tenant.js'
import { amountOf } from './amounts.js'
import { usersOf } from './users.js'

/** GET /users: who the tenant's users are, and what each may spend. */
export function usersPage({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    handler: async ({ tenant }) => ({ users: await usersOf(rowsOf(database), tenant) }),
  }
}

/** GET /ledger: the tenant's accounts, their sum, which is zero at any moment, and its transfers, the last one first. */
export function ledgerPage({ database }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    onRequest: authenticate,
    async handler({ tenant, query }) {
      const rows = rowsOf(database)
      const accounts = await accountsOf(rows, tenant)
      const { items, next } = await pageOf(query, (limit, after) => transfersOf(rows, tenant, limit, after))
      const sums = sumsOf(accounts)
      return {
        // How far the currencies are from zero, together.
        sum: amountOf(Object.values(sums).reduce((off, sum) => off + (sum < 0n ? -sum : sum), 0n)),
        sums: Object.fromEntries(Object.entries(sums).map(([currency, sum]) => [currency, amountOf(sum)])),
        accounts: accounts.map(({ balance, ...account }) => ({ ...account, balance: amountOf(balance) })),
        transfers: items,
        ...(next !== undefined && { next }),
      }
    },
  }
}

interface AccountBalance {
  readonly account: string
  readonly currency: string
  readonly balance: bigint
}

/** One query, so that no transfer is seen halfway. Orders and withdrawals that are over hold nothing, and are left out. */
async function accountsOf({ db, run }: Rows, tenant: string): Promise<readonly AccountBalance[]> {
  const query = db
    .selectFrom('accounts')
    .selectAll()
    .where('tenant', '=', tenant)
    .where(({ or, eb }) => or([eb('balance', '<>', 0n), eb('id', 'like', 'user:%')]))
  return (await run(query.orderBy('id').orderBy('currency'))).map(({ id, currency, balance }) => ({
    account: String(id),
    currency: String(currency),
    balance: BigInt(String(balance)),
  }))
}

function sumsOf(accounts: readonly AccountBalance[]): Record<string, bigint> {
  const sums: Record<string, bigint> = {}
  for (const { currency, balance } of accounts) sums[currency] = (sums[currency] ?? 0n) + balance
  return sums
}

async function transfersOf({ db, run }: Rows, tenant: string, limit: number, after: string | undefined) {
  const all = db.selectFrom('transfers').selectAll().where('tenant', '=', tenant)
  const rest = after === undefined ? all : all.where('id', '<', after)
  const transfers = await run(rest.orderBy('id', 'desc').limit(limit))
  const ids = transfers.map(({ id }) => String(id))
  const entries =
    ids.length === 0 ? [] : await run(db.selectFrom('entries').selectAll().where('transfer_id', 'in', ids))
  return transfers.map(({ id, cause, created_at }) => ({
    id: String(id),
    cause,
    created_at,
    entries: entries.filter(({ transfer_id }) => transfer_id === id).map(shownEntry),
  }))
}

function shownEntry({ account_id, currency, amount }: Row) {
  return { account: account_id, currency, amount: amountOf(BigInt(String(amount))) }
}
