import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type IdempotentFetch, idempotentFetch, newKey } from 'hapax/client'
import { expect, test } from 'vitest'
import { tell } from './providers-process.js'
import type { SandboxProcess } from './sandbox-process.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'

/** Kills of the API, each at some moment of its first 200 ms. */
const kills = 50
const longestMs = 200
/** Half of them ride, half of them buy. */
const clients = 24

const tenants = ['acme', 'globex'] as const
type Tenant = (typeof tenants)[number]

/** What a client was told, and must find again. */
interface Told {
  readonly rides: { readonly tenant: Tenant; readonly id: string; readonly amountCents: number }[]
  readonly orders: { readonly tenant: Tenant; readonly id: string; readonly escrowId: string }[]
}

test(`killed ${kills} times under ${clients} clients, the API loses nothing that it acknowledged and charges nothing twice`, async () => {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '2' } })
  const told: Told = { rides: [], orders: [] }
  const isOver = new AbortController()
  const busy = Promise.all(
    Array.from({ length: clients }, (_, number) => {
      const tenant = tenants[number % tenants.length] ?? 'acme'
      return number % 4 < 2 ? rides(sandbox, tenant, told, isOver.signal) : orders(sandbox, tenant, told, isOver.signal)
    }),
  )
  const killed = await killAgainAndAgain(sandbox)
  isOver.abort()
  await busy
  const found = await lookedAt(sandbox)
  console.log(
    `the API was killed ${killed} times under ${clients} clients:\n` +
      `  acknowledged: ${told.rides.length} rides, ${told.orders.length} orders\n` +
      `  stored:       ${found.paid.length} rides paid, ${found.released.length} orders released\n` +
      `  providers:    ${found.charged.length} charges, ${found.escrows.create.length} escrows made,` +
      ` ${found.escrows.fund.length} funded, ${found.escrows.release.length} released\n` +
      `  balances:     ${found.balances.join(', ')}; sums of the ledgers ${found.sums.join(', ')}`,
  )
  expect(killed).toBe(kills)
  // Whoever was told yes finds it; what is stored was told to somebody, since no client gives up.
  expect(sorted(found.paid)).toEqual(sorted(told.rides.map(({ id }) => id)))
  expect(sorted(found.released)).toEqual(sorted(told.orders.map(({ id }) => id)))
  // And the world outside agrees: once each.
  expect(sorted(found.charged)).toEqual(sorted(told.rides.map(({ id }) => id)))
  expect(sorted(found.escrows.create.map(({ reference }) => reference))).toEqual(
    sorted(told.orders.map(({ escrowId }) => escrowId)),
  )
  const made = sorted(found.escrows.create.map(({ object }) => object))
  for (const step of ['fund', 'release'] as const)
    expect(sorted(found.escrows[step].map(({ object }) => object))).toEqual(made)
  expect(found.chargedCents).toBe(told.rides.reduce((sum, { amountCents }) => sum + amountCents, 0))
  expect(found.sums).toEqual(tenants.map(() => '0.00'))
  for (const [index, tenant] of tenants.entries()) {
    const sold = told.orders.filter((order) => order.tenant === tenant).length
    expect(found.balances[index]).toBe(`${tenant} ${10_000 - sold}.00 and ${10_000 + sold}.00 USD`)
  }
}, 600_000)

/** One ride after another, each under a key of its own. */
async function rides({ url }: SandboxProcess, tenant: Tenant, told: Told, isOver: AbortSignal): Promise<void> {
  const send = patient()
  while (!isOver.aborted) {
    const amountCents = randomInt(100, 10_000)
    const ride = { origin: { lat: 1, lon: 2 }, destination: { lat: 3, lon: 4 }, amountCents, currency: 'usd' }
    const { id } = await posted(send, `${url}/rides`, tenant, ride)
    told.rides.push({ tenant, id, amountCents })
  }
}

/** One order after another, each from its creation to its release. */
async function orders({ url }: SandboxProcess, tenant: Tenant, told: Told, isOver: AbortSignal): Promise<void> {
  const send = patient()
  const [buyer, seller] = await usersOf(url, tenant)
  while (!isOver.aborted) {
    const order = { buyer_id: buyer?.id, seller_id: seller?.id, amount: '1.00', currency: 'USD' }
    const { id } = await posted(send, `${url}/orders`, tenant, order)
    let escrowId = ''
    for (const step of ['reserve', 'escrow', 'escrow/fund', 'release'])
      ({ escrow_id: escrowId = escrowId } = await posted(send, `${url}/orders/${id}/${step}`, tenant, {}))
    told.orders.push({ tenant, id, escrowId })
  }
}

/** A client that never gives up within the time of the test. */
function patient(): IdempotentFetch {
  return idempotentFetch({
    deadline: '5m',
    attemptTimeout: '20s',
    attempts: 10_000,
    backoff: { first: '20ms', max: '500ms' },
    budget: { most: 10_000, share: 1 },
  })
}

interface Created {
  readonly id: string
  readonly escrow_id?: string
}

async function posted(send: IdempotentFetch, url: string, tenant: Tenant, body: unknown): Promise<Created> {
  const headers = { Authorization: `Bearer ohk_test_${tenant}`, 'Content-Type': 'application/json' }
  const response = await send(url, { method: 'POST', headers, body: JSON.stringify(body) }, { key: newKey() })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

async function killAgainAndAgain(sandbox: SandboxProcess): Promise<number> {
  let { pid } = await apiOf(sandbox)
  for (let killed = 0; killed < kills; killed++) {
    await delay(randomInt(0, longestMs))
    process.kill(pid, 'SIGKILL')
    pid = await untilRestarted(sandbox, pid)
  }
  return kills
}

async function lookedAt({ url }: SandboxProcess) {
  const charges = await ledgerOf(url, 'card', 'charge')
  const escrowSteps = (operation: string) => ledgerOf(url, 'trustless-work', operation)
  const balances: string[] = []
  const sums: string[] = []
  for (const tenant of tenants) {
    const [buyer, seller] = await usersOf(url, tenant)
    balances.push(`${tenant} ${buyer?.balances.USD} and ${seller?.balances.USD} USD`)
    sums.push((await got(url, tenant, '/ledger')).sum)
  }
  return {
    paid: await idsOf(url, 'rides', 'paid'),
    released: await idsOf(url, 'orders', 'RELEASED'),
    charged: charges.map(({ reference }) => reference),
    chargedCents: charges.reduce((sum, { amount }) => sum + Number(amount), 0),
    escrows: {
      create: await escrowSteps('create'),
      fund: await escrowSteps('fund'),
      release: await escrowSteps('release'),
    },
    balances,
    sums,
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

/** Of all tenants, page by page, those that are not in this state as well: a half-done one must not hide. */
async function idsOf(url: string, kind: 'rides' | 'orders', status: string): Promise<readonly string[]> {
  const ids: string[] = []
  for (const tenant of tenants) {
    let next: string | undefined
    do {
      const page = await got(url, tenant, `/${kind}?limit=100${next === undefined ? '' : `&after=${next}`}`)
      for (const item of page[kind]) ids.push(item.status === status ? item.id : `${item.id} is ${item.status}`)
      next = page.next
    } while (next !== undefined)
  }
  return ids
}

interface User {
  readonly id: string
  readonly balances: Readonly<Record<string, string>>
}

async function usersOf(url: string, tenant: Tenant): Promise<readonly User[]> {
  return (await got(url, tenant, '/users')).users
}

/** Reads with patience too: somebody may just be killed. */
async function got(url: string, tenant: Tenant, path: string) {
  const response = await patient()(`${url}${path}`, { headers: { Authorization: `Bearer ohk_test_${tenant}` } })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return JSON.parse(await response.text())
}

function sorted(ids: readonly string[]): readonly string[] {
  return [...ids].sort()
}
