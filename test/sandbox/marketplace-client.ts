import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type Answer, acme, ask, globex } from './payment-client.js'
import { ledger, tell, until } from './providers-process.js'
import type { Api } from './sandbox-process.js'

/** The marketplace over real HTTP, and what its partners did. */

export interface Sent {
  /** The Idempotency-Key; a new one for every request that names none, and none at all for `'none'`. */
  readonly key?: string
  readonly body?: unknown
  readonly tenant?: { readonly authorization: string }
}

export const buyer = 'usr_acme_ada'
export const seller = 'usr_acme_bo'
export const order = { buyer_id: buyer, seller_id: seller, amount: '100.00', currency: 'USD' }
export const topup = { user_id: buyer, amount: '25.00', currency: 'USD' }
export const withdrawal = { user_id: buyer, amount: '10.00', currency: 'USD', destination: { ref: 'acc_17' } }

export function post(sandbox: Api, path: string, sent: Sent = {}): Promise<Answer> {
  const { key = randomUUID(), body, tenant = acme } = sent
  const headers = {
    ...tenant,
    ...(key !== 'none' && { 'idempotency-key': key }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  return ask(sandbox, path, { method: 'POST', headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
}

export function get(sandbox: Api, path: string, tenant = acme): Promise<Answer> {
  return ask(sandbox, path, { headers: tenant })
}

/** The steps of an order, in their order. */
const steps = ['reserve', 'escrow', 'escrow/fund'] as const
export type Step = (typeof steps)[number]

/** A new order that has gone through these steps, up to the last one named; its id. */
export async function orderAfter(sandbox: Api, last: Step | 'none', body: object = order): Promise<string> {
  const created = await post(sandbox, '/orders', { body })
  expect([created.status, created.json.status]).toEqual([201, 'ORDER_CREATED'])
  const path = `/orders/${created.json.id}`
  const count = last === 'none' ? 0 : steps.indexOf(last) + 1
  for (const step of steps.slice(0, count))
    expect((await post(sandbox, `${path}/${step}`)).status).toBe(step === 'escrow' ? 201 : 200)
  return String(created.json.id)
}

/** A dispute over a new order. */
export async function disputedOrder(sandbox: Api): Promise<{ orderId: string; disputeId: string }> {
  const orderId = await orderAfter(sandbox, 'escrow/fund')
  const opened = await post(sandbox, `/orders/${orderId}/disputes`, { body: { reason: 'It never came.' } })
  expect(opened).toMatchObject({ status: 201, json: { status: 'OPEN' } })
  return { orderId, disputeId: String(opened.json.dispute_id) }
}

/** How often Trustless Work did each operation for an order. */
export async function escrowCalls(sandbox: Api, orderId: string): Promise<Record<string, number>> {
  const entries = await ledger(sandbox, '?provider=trustless-work')
  const { escrow_id } = (await get(sandbox, `/orders/${orderId}`)).json
  const object = entries.find(({ reference }) => reference === escrow_id)?.object
  const counts: Record<string, number> = {}
  for (const { operation } of entries.filter((entry) => entry.object === object))
    counts[String(operation)] = (counts[String(operation)] ?? 0) + 1
  return counts
}

/** What Airtm did for one of our ids. */
export async function payments(sandbox: Api, id: unknown): Promise<Record<string, unknown>[]> {
  return (await ledger(sandbox, '?provider=airtm')).filter(({ reference }) => reference === id)
}

export async function balanceOf(sandbox: Api, user: string, currency = 'USD'): Promise<string> {
  const { users } = (await get(sandbox, '/users', user.startsWith('usr_acme') ? acme : globex)).json as unknown as Users
  return users.find(({ id }) => id === user)?.balances[currency] ?? '0.00'
}

/** The same in minor units, to reckon with: no float ever holds money, not here either. */
export async function centsOf(sandbox: Api, user: string, currency = 'USD'): Promise<number> {
  const [whole = '', decimals = ''] = (await balanceOf(sandbox, user, currency)).split('.')
  expect([whole, decimals]).toEqual([expect.stringMatching(/^-?\d+$/), expect.stringMatching(/^\d\d$/)])
  return Number(whole + decimals)
}

interface Users {
  readonly users: readonly { readonly id: string; readonly balances: Readonly<Record<string, string>> }[]
}

/** The books are balanced, at whatever moment one looks. */
export async function expectBalanced(sandbox: Api): Promise<void> {
  for (const tenant of [acme, globex]) expect((await get(sandbox, '/ledger', tenant)).json.sum).toBe('0.00')
}

export async function fault(sandbox: Api, fault: object): Promise<void> {
  expect((await tell(sandbox, 'POST', '/_providers/faults', { body: fault })).status).toBe(201)
}

/** Looks until what is there has this status. */
export function untilStatus(sandbox: Api, path: string, status: string): Promise<unknown> {
  return until(async () => expect((await get(sandbox, path)).json.status).toBe(status))
}
