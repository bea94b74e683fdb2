import { randomUUID } from 'node:crypto'
import { expect, vi } from 'vitest'
import { type Answer, acme, ask } from './payment-client.js'
import { tell } from './providers-process.js'
import type { Api } from './sandbox-process.js'

/** What the systems of the sandbox are asked, besides plain payments. */

type Body = Readonly<Record<string, unknown>>

export interface Try {
  readonly key?: string
  readonly tenant?: { readonly authorization: string }
}

export const trip = {
  origin: { lat: 52.52, lon: 13.405 },
  destination: { lat: 52.37, lon: 9.73 },
  amountCents: 2000,
  currency: 'usd',
}

export function postJson(
  sandbox: Api,
  path: string,
  body: unknown,
  { key = randomUUID(), tenant = acme }: Try = {},
): Promise<Answer> {
  const headers = { ...tenant, 'content-type': 'application/json', 'idempotency-key': key }
  return ask(sandbox, path, { method: 'POST', headers, body: JSON.stringify(body) })
}

export function get(sandbox: Api, path: string, tenant = acme): Promise<Answer> {
  return ask(sandbox, path, { headers: tenant })
}

/** The next request of this operation meets the fault. */
export async function fault(sandbox: Api, where: Body): Promise<void> {
  expect((await tell(sandbox, 'POST', '/_providers/faults', { body: where })).status).toBe(201)
}

/** Sends it again until it is answered with the status. */
export function retriedUntil(status: number, send: () => Promise<Answer>): Promise<Answer> {
  return eventually(async () => {
    const answer = await send()
    expect(answer.status, answer.text).toBe(status)
    return answer
  })
}

/** Looks until it is so: longer than a lease, a call and the rests of two workers take. */
export function eventually<T>(look: () => Promise<T>): Promise<T> {
  return vi.waitFor(look, { timeout: 25_000, interval: 100 })
}

/** How the key of a tenant stands; 404 where it is free. */
export async function stateOf(sandbox: Api, key: string, tenant = acme): Promise<unknown> {
  const { status, json } = await ask(sandbox, '/idempotency/status', { headers: { ...tenant, 'idempotency-key': key } })
  return status === 404 ? 'free' : json.state
}

export const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'
