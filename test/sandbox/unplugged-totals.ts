import { expect, vi } from 'vitest'
import { tell } from './providers-process.js'
import type { SandboxProcess } from './sandbox-process.js'
import { patient, type Tenant, tenants, usersOf } from './unplugged-clients.js'

/** What there is in the end: at the providers, in the tables, in the books. */

export type Totals = Awaited<ReturnType<typeof totalsOf>>

export async function totalsOf({ url }: SandboxProcess) {
  const charges = await ledgerOf(url, 'card', 'charge')
  const escrows = (operation: string) => ledgerOf(url, 'trustless-work', operation)
  // Airtm says by a webhook that money is there, or has gone, and says it again until it is heard.
  const heard = (kind: Kind, open: string) =>
    vi.waitFor(
      async () => {
        const ids = await idsOf(url, kind)
        expect(ids.get(open) ?? []).toEqual([])
        return ids
      },
      { timeout: 60_000, interval: 500 },
    )
  const topups = await heard('topups', 'PENDING')
  const withdrawals = await heard('withdrawals', 'PROCESSING')
  return {
    rides: await idsOf(url, 'rides'),
    payments: await idsOf(url, 'payments'),
    orders: await idsOf(url, 'orders'),
    disputes: await idsOf(url, 'disputes'),
    topups,
    withdrawals,
    charged: charges.map(({ reference }) => reference),
    chargedCents: charges.reduce((sum, { amount }) => sum + Number(amount), 0),
    paidIn: (await ledgerOf(url, 'airtm', 'payin')).map(({ reference }) => reference),
    paidOut: (await ledgerOf(url, 'airtm', 'payout')).map(({ reference }) => reference),
    escrows: {
      create: await escrows('create'),
      fund: await escrows('fund'),
      release: await escrows('release'),
      refund: await escrows('refund'),
      dispute: await escrows('dispute'),
      resolve: await escrows('resolve'),
    },
    books: await Promise.all(tenants.map((tenant) => booksOf(url, tenant))),
  }
}

interface Entry {
  /** What we called it, where it was made. */
  readonly reference: string
  /** What the provider calls it. */
  readonly object: string
  readonly amount: number | string
}

async function ledgerOf(url: string, provider: string, operation: string): Promise<readonly Entry[]> {
  const { json } = await tell({ url }, 'GET', `/_providers/ledger?provider=${provider}&operation=${operation}`)
  return json.entries
}

type Kind = 'rides' | 'payments' | 'orders' | 'disputes' | 'topups' | 'withdrawals'

/** Of all tenants, page by page, by status: a half-done one must not hide. */
async function idsOf(url: string, kind: Kind): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = new Map<string, string[]>()
  for (const tenant of tenants) {
    let next: string | undefined
    do {
      const page = await got(url, tenant, `/${kind}?limit=100${next === undefined ? '' : `&after=${next}`}`)
      for (const { id, status } of page[kind]) ids.set(status, [...(ids.get(status) ?? []), id])
      next = page.next
    } while (next !== undefined)
  }
  return ids
}

/** What the buyer and the seller of a tenant have, and what its accounts sum to. */
async function booksOf(url: string, tenant: Tenant) {
  const { users } = await got(url, tenant, '/users')
  const { sum, accounts } = await got(url, tenant, '/ledger?limit=1')
  const balanceOf = (user: string): string =>
    users.find(({ id }: { readonly id: string }) => id === user)?.balances.USD ?? '0.00'
  const [buyer, seller] = usersOf[tenant]
  const held = accounts.filter(({ account }: { readonly account: string }) => /^(order|withdrawal):/.test(account))
  return { tenant, buyer: balanceOf(buyer), seller: balanceOf(seller), sum: String(sum), held: held.length as number }
}

/** Reads with patience too: somebody may just be killed. */
async function got(url: string, tenant: Tenant, path: string) {
  const response = await patient()(`${url}${path}`, { headers: { Authorization: `Bearer ohk_test_${tenant}` } })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return JSON.parse(await response.text())
}
