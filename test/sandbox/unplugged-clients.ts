import { randomInt } from 'node:crypto'
import { type IdempotentFetch, idempotentFetch, newKey } from 'hapax/client'
import type { SandboxProcess } from './sandbox-process.js'

/** Clients that do one thing after another, each under a key of its own, and never give up within the time of a test. */

export const tenants = ['acme', 'globex'] as const
export type Tenant = (typeof tenants)[number]

/** What clients were told, and must find again; and how often an attempt of theirs broke off. */
export interface Told {
  readonly rides: { readonly id: string; readonly amountCents: number }[]
  readonly payments: { readonly id: string; readonly amountCents: number }[]
  readonly topups: { readonly tenant: Tenant; readonly id: string }[]
  readonly withdrawals: { readonly tenant: Tenant; readonly id: string }[]
  /** Those that were released, and those that were disputed and refunded. */
  readonly released: { readonly tenant: Tenant; readonly id: string; readonly escrowId: string }[]
  readonly disputed: { readonly id: string; readonly escrowId: string; readonly disputeId: string }[]
  /** Requests that an API had taken when it ended. */
  brokenOff: number
}

export function nothingTold(): Told {
  return { rides: [], payments: [], topups: [], withdrawals: [], released: [], disputed: [], brokenOff: 0 }
}

/** Whoever is at it: what it does, and the address, the tenant and the ear that it has. */
interface Client {
  readonly url: string
  readonly tenant: Tenant
  readonly told: Told
  readonly send: IdempotentFetch
}

export const kinds = {
  rides: inTurn(ride),
  released: inTurn(release),
  disputed: inTurn(dispute),
  payments: doubtful(pay),
  topups: doubtful(topUp),
  withdrawals: doubtful(withdraw),
} as const

/** So many clients, of all kinds and of both tenants, until they are told that it is over and have ended what they began. */
export async function keepBusy({ url }: SandboxProcess, clients: number, told: Told, over: AbortSignal): Promise<void> {
  const all = Object.values(kinds)
  await Promise.all(
    Array.from({ length: clients }, async (_, number) => {
      const tenant = tenants[Math.floor(number / all.length) % tenants.length] ?? 'acme'
      // Each with a budget of its own: while nobody listens, that of one for all would be spent within seconds.
      const send = patient(({ status, error }) => {
        if (status === undefined && !wasRefused(error)) told.brokenOff++
      })
      await all[number % all.length]?.({ url, tenant, told, send }, over)
    }),
  )
}

/** One after the other. */
function inTurn(once: (client: Client) => Promise<void>) {
  return async (client: Client, over: AbortSignal): Promise<void> => {
    while (!over.aborted) await once(client)
  }
}

/** What a kill leaves in doubt takes its time, so that such a client has more than one under way. */
function doubtful(once: (client: Client) => Promise<void>) {
  return async (client: Client, over: AbortSignal): Promise<void> => {
    await Promise.all(Array.from({ length: 3 }, () => inTurn(once)(client, over)))
  }
}

type OnAttempt = NonNullable<NonNullable<Parameters<typeof idempotentFetch>[0]>['onAttempt']>

export function patient(onAttempt: OnAttempt = () => {}): IdempotentFetch {
  return idempotentFetch({
    deadline: '5m',
    attemptTimeout: '20s',
    attempts: 10_000,
    backoff: { first: '20ms', max: '300ms' },
    budget: { most: 10_000, share: 1 },
    onAttempt,
  })
}

/** Nobody listened, so that nobody had it. */
function wasRefused(error: unknown): boolean {
  return JSON.stringify(causes(error)).includes('ECONNREFUSED')
}

function causes(error: unknown): unknown[] {
  const { code, cause, errors = [] } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown[] }
  return [code, ...(cause === undefined ? [] : causes(cause)), ...errors.flatMap(causes)]
}

async function ride({ told, ...client }: Client): Promise<void> {
  const amountCents = randomInt(100, 10_000)
  const trip = { origin: { lat: 1, lon: 2 }, destination: { lat: 3, lon: 4 }, amountCents, currency: 'usd' }
  const { id } = await posted(client, '/rides', trip)
  told.rides.push({ id, amountCents })
}

async function pay({ told, ...client }: Client): Promise<void> {
  const amountCents = randomInt(100, 10_000)
  const { id } = await posted(client, '/payments', { customerId: 'cus_1', amountCents, currency: 'USD' })
  told.payments.push({ id, amountCents })
}

/** Airtm honours no keys: whatever is lost on the way is in doubt until somebody has asked it. */
async function topUp({ told, ...client }: Client): Promise<void> {
  const { tenant } = client
  const [user_id] = usersOf[tenant]
  const { id } = await posted(client, '/topups', { user_id, amount: '2.00', currency: 'USD' })
  told.topups.push({ tenant, id })
}

/** Sets money aside, and has Airtm send it: the first rolls back with its transaction, the second may be in doubt. */
async function withdraw({ told, ...client }: Client): Promise<void> {
  const { tenant } = client
  const [, user_id] = usersOf[tenant]
  const sum = { user_id, amount: '3.00', currency: 'USD', destination: { ref: 'acc_1' } }
  const { id } = await posted(client, '/withdrawals', sum)
  await posted(client, `/withdrawals/${id}/commit`, {})
  told.withdrawals.push({ tenant, id })
}

async function release({ told, ...client }: Client): Promise<void> {
  const { tenant } = client
  const { id, escrowId } = await funded(client)
  await posted(client, `/orders/${id}/release`, {})
  told.released.push({ tenant, id, escrowId })
}

async function dispute({ told, ...client }: Client): Promise<void> {
  const { id, escrowId } = await funded(client)
  const { id: disputeId } = await posted(client, `/orders/${id}/disputes`, { reason: 'It never came.' })
  await posted(client, `/disputes/${disputeId}/resolve`, { decision: 'refund' })
  told.disputed.push({ id, escrowId, disputeId })
}

async function funded(client: Omit<Client, 'told'>): Promise<{ id: string; escrowId: string }> {
  const [buyer_id, seller_id] = usersOf[client.tenant]
  const { id } = await posted(client, '/orders', { buyer_id, seller_id, amount: '1.00', currency: 'USD' })
  let escrowId = ''
  for (const step of ['reserve', 'escrow', 'escrow/fund'])
    escrowId = (await posted(client, `/orders/${id}/${step}`, {})).escrow_id ?? ''
  return { id, escrowId }
}

/** Who buys, and who sells. */
export const usersOf = {
  acme: ['usr_acme_ada', 'usr_acme_bo'],
  globex: ['usr_globex_cleo', 'usr_globex_dan'],
} as const

interface Created {
  readonly id: string
  readonly escrow_id?: string | null
}

async function posted({ url, tenant, send }: Omit<Client, 'told'>, path: string, body: unknown): Promise<Created> {
  const headers = { Authorization: `Bearer ohk_test_${tenant}`, 'Content-Type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await send(url + path, init, { key: newKey() })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}
