import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { order, orderAfter, post, topup } from './marketplace-client.js'
import { type Answer, acme, ask } from './payment-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

/** A key is associated with the fields that the marketplace names, and with nothing else of a request. */

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSupervised()
})

/** The bytes as they are; no media type where there are none. */
function sent(path: string, key: string, body: string | undefined, mediaType = 'application/json'): Promise<Answer> {
  const headers = { ...acme, 'idempotency-key': key, ...(body !== undefined && { 'content-type': mediaType }) }
  return ask(sandbox, path, { method: 'POST', headers, ...(body !== undefined && { body }) })
}

test('an order that is named in the path is all that counts: no body, an empty one, another one, a query', async () => {
  const path = `/orders/${await orderAfter(sandbox, 'none')}/reserve`
  const key = randomUUID()
  const first = await sent(path, key, undefined)
  expect(first.status).toBe(200)
  for (const [url, body, mediaType] of [
    [path, '{}'],
    [path, ''],
    [path, '{"note":1,"note":2}'],
    [path, '{}', 'application/json; charset=utf-8; v=2'],
    [`${path}?x=1`, undefined],
  ] as const) {
    const again = await sent(url, key, body, mediaType)
    expect([body, again.status, again.text]).toEqual([body, 200, first.text])
  }
})

test('members that do not count may be there twice, or come with a query', async () => {
  const key = randomUUID()
  const first = await sent('/topups', key, JSON.stringify(topup))
  expect(first.status).toBe(201)
  const twice = JSON.stringify(topup).replace('{', '{"note":1,"note":2,')
  for (const [url, body] of [
    ['/topups', twice],
    ['/topups?x=1', JSON.stringify(topup)],
    ['/topups', `\ufeff${JSON.stringify(topup)}`],
  ] as const) {
    const again = await sent(url, key, body)
    expect([url, body, again.status, again.text]).toEqual([url, body, 201, first.text])
  }
  expect((await sent('/topups', key, twice.replace('25.00', '26.00'))).status).toBe(409)
})

test('a client_order_ref that is null is none', async () => {
  const key = randomUUID()
  const first = await post(sandbox, '/orders', { key, body: order })
  const again = await post(sandbox, '/orders', { key, body: { ...order, client_order_ref: null } })
  expect([again.status, again.text]).toEqual([201, first.text])
  const named = await post(sandbox, '/orders', { key, body: { ...order, client_order_ref: 'null' } })
  expect(named).toMatchObject({ status: 409, json: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } })
})
