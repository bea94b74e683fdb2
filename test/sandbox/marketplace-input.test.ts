import { randomUUID } from 'node:crypto'
import { idempotentFetch } from 'hapax/client'
import { beforeAll, expect, test } from 'vitest'
import { recordsOf } from './database.js'
import {
  balanceOf,
  buyer,
  disputedOrder,
  get,
  order,
  orderAfter,
  post,
  topup,
  withdrawal,
} from './marketplace-client.js'
import { type Answer, acme, ask, globex } from './payment-client.js'
import { ledger } from './providers-process.js'
import type { SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

/** What the marketplace refuses leaves nothing behind: no row, no record, no call, and the key is free for the next request. */

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSupervised()
})

function expectRefused(answer: Answer, status: number, code: string): void {
  expect(answer).toMatchObject({ status, json: { error: { code, message: expect.any(String) } } })
  expect(Object.keys(answer.json)).toEqual(['error'])
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
}

const bad = {
  amount: [
    100,
    null,
    '',
    '0',
    '0.00',
    '-1.00',
    '+1.00',
    '1e3',
    '1.000',
    '01.00',
    ' 1.00',
    '1,00',
    '.5',
    '1.',
    'NaN',
    '1000000000.00',
    '9'.repeat(400),
  ],
  currency: ['usd', 'XXX', 'BTC', '', 840, null, ['USD']],
  user: [7, null, '', 'usr 1', 'a'.repeat(65), { id: 'x' }, "usr'; --"],
}

const bodies: readonly (readonly [string, object, readonly string[]])[] = [
  ['/topups', topup, ['user_id']],
  ['/orders', order, ['buyer_id', 'seller_id']],
  ['/withdrawals', withdrawal, ['user_id']],
]

test.for(bodies)(
  'a body of %s that makes no sense is a 400, and its key is free afterwards',
  async ([path, good, users]) => {
    const key = randomUUID()
    const wrong: unknown[] = [undefined, null, [], 'text', 7, {}]
    for (const amount of bad.amount) wrong.push({ ...good, amount })
    for (const currency of bad.currency) wrong.push({ ...good, currency })
    for (const user of users) for (const id of bad.user) wrong.push({ ...good, [user]: id })
    for (const body of wrong) {
      const answer = await post(sandbox, path, { key, body })
      expect([body, answer.status]).toEqual([body, 400])
      expectRefused(answer, 400, 'REQUEST_INVALID')
    }
    expect(recordsOf(sandbox.dataDir, key)).toEqual([])
    expect((await post(sandbox, path, { key, body: good })).status).toBe(201)
  },
)

test('what belongs to one kind of request only is looked at too', async () => {
  for (const destination of [
    undefined,
    null,
    'acc_1',
    {},
    { ref: '' },
    { ref: 7 },
    { ref: 'a'.repeat(256) },
    { ref: '\0' },
  ])
    expectRefused(await post(sandbox, '/withdrawals', { body: { ...withdrawal, destination } }), 400, 'REQUEST_INVALID')
  for (const client_order_ref of [7, '', ' ', 'a'.repeat(256), {}])
    expectRefused(await post(sandbox, '/orders', { body: { ...order, client_order_ref } }), 400, 'REQUEST_INVALID')
  expectRefused(await post(sandbox, '/orders', { body: { ...order, seller_id: buyer } }), 400, 'REQUEST_INVALID')
  const unreadable = { method: 'POST', body: '{', headers: { ...acme, 'content-type': 'application/json' } }
  expectRefused(await ask(sandbox, '/orders', unreadable), 400, 'BODY_NOT_JSON')
  const text = { method: 'POST', body: 'x', headers: { ...acme, 'content-type': 'text/plain' } }
  expectRefused(await ask(sandbox, '/orders', text), 415, 'MEDIA_TYPE_UNSUPPORTED')
  expectRefused(await ask(sandbox, '/orders', { method: 'POST' }), 401, 'UNAUTHENTICATED')
  expectRefused(await ask(sandbox, '/orders', { method: 'DELETE', headers: acme }), 405, 'METHOD_NOT_ALLOWED')
})

test('who does not exist, or is of another tenant, is a 404, and the key is free afterwards', async () => {
  const id = await orderAfter(sandbox, 'none')
  const { id: withdrawalId } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
  const { id: topupId } = (await post(sandbox, '/topups', { body: topup })).json
  const key = randomUUID()
  for (const user_id of ['usr_nobody', 'usr_globex_cleo']) {
    expectRefused(await post(sandbox, '/topups', { key, body: { ...topup, user_id } }), 404, 'USER_NOT_FOUND')
    expectRefused(await post(sandbox, '/withdrawals', { key, body: { ...withdrawal, user_id } }), 404, 'USER_NOT_FOUND')
    expectRefused(
      await post(sandbox, '/orders', { key, body: { ...order, seller_id: user_id } }),
      404,
      'USER_NOT_FOUND',
    )
  }
  for (const [tenant, orderId] of [
    [globex, id],
    [acme, 'ord_nobody'],
  ] as const) {
    for (const step of ['reserve', 'escrow', 'escrow/fund', 'release', 'refund', 'disputes'])
      expectRefused(await post(sandbox, `/orders/${orderId}/${step}`, { key, tenant }), 404, 'ORDER_NOT_FOUND')
    expectRefused(await get(sandbox, `/orders/${orderId}`, tenant), 404, 'ORDER_NOT_FOUND')
    expectRefused(await get(sandbox, `/orders/${orderId}/escrow`, tenant), 404, 'ORDER_NOT_FOUND')
  }
  const body = { decision: 'refund' }
  expectRefused(await post(sandbox, '/disputes/dsp_nobody/resolve', { key, body }), 404, 'DISPUTE_NOT_FOUND')
  for (const path of [`/withdrawals/${withdrawalId}/commit`, `/withdrawals/${withdrawalId}/refresh`])
    expectRefused(await post(sandbox, path, { key, tenant: globex }), 404, 'WITHDRAWAL_NOT_FOUND')
  expectRefused(await get(sandbox, `/withdrawals/${withdrawalId}`, globex), 404, 'WITHDRAWAL_NOT_FOUND')
  expectRefused(await post(sandbox, `/topups/${topupId}/refresh`, { key, tenant: globex }), 404, 'TOPUP_NOT_FOUND')
  expectRefused(await get(sandbox, `/orders/${id}/escrow`), 404, 'ESCROW_NOT_FOUND')
  expect(recordsOf(sandbox.dataDir, key)).toEqual([])
  expect((await post(sandbox, `/orders/${id}/reserve`, { key })).status).toBe(200)
})

test('a state that does not fit is a 409, nothing is asked of anybody, and the key is free afterwards', async () => {
  const id = await orderAfter(sandbox, 'none')
  const before = await ledger(sandbox)
  const key = randomUUID()
  for (const step of ['escrow', 'escrow/fund', 'release', 'refund', 'disputes'])
    expectRefused(await post(sandbox, `/orders/${id}/${step}`, { key }), 409, 'ORDER_STATE_INVALID')
  expect(recordsOf(sandbox.dataDir, key)).toEqual([])
  expect(await ledger(sandbox)).toEqual(before)
  expect((await post(sandbox, `/orders/${id}/reserve`, { key })).status).toBe(200)
  for (const decision of [undefined, 'split', 'RELEASE', 7])
    expectRefused(await post(sandbox, '/disputes/dsp_1/resolve', { body: { decision } }), 400, 'REQUEST_INVALID')
})

test('money that is not there is a 409, nothing is set aside, and the key is free afterwards', async () => {
  const id = await orderAfter(sandbox, 'none', { ...order, amount: '999999.00' })
  const before = await balanceOf(sandbox, buyer)
  const key = randomUUID()
  expectRefused(await post(sandbox, `/orders/${id}/reserve`, { key }), 409, 'INSUFFICIENT_FUNDS')
  const euros = { ...withdrawal, currency: 'EUR' }
  expectRefused(await post(sandbox, '/withdrawals', { key, body: euros }), 409, 'INSUFFICIENT_FUNDS')
  expect([await balanceOf(sandbox, buyer), recordsOf(sandbox.dataDir, key)]).toEqual([before, []])
  expect((await post(sandbox, '/withdrawals', { key, body: withdrawal })).status).toBe(201)
})

test('a refusal that gives its reason is the answer to our client, which sends it once', async () => {
  const statuses: (number | undefined)[] = []
  const send = idempotentFetch({ onAttempt: ({ status }) => void statuses.push(status) })
  const sent = (path: string, body: object) =>
    send(`${sandbox.url}${path}`, {
      method: 'POST',
      headers: { ...acme, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const referred = { ...order, client_order_ref: randomUUID() }
  expect((await sent('/orders', referred)).status).toBe(201)
  const reused = await sent('/orders', { ...referred, amount: '7.00' })
  expect(await reused.json()).toMatchObject({ error: { code: 'CLIENT_ORDER_REF_REUSED' } })
  const poor = await sent('/withdrawals', { ...withdrawal, currency: 'EUR' })
  expect(await poor.json()).toMatchObject({ error: { code: 'INSUFFICIENT_FUNDS' } })
  expect(statuses).toEqual([201, 409, 409])
})

test('what was set aside for a withdrawal comes back once, unless it was committed', async () => {
  const before = await balanceOf(sandbox, buyer)
  const cancel = (id: unknown, tenant = acme) =>
    ask(sandbox, `/withdrawals/${id}`, { method: 'DELETE', headers: tenant })
  const { id } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
  expectRefused(await cancel(id, globex), 404, 'WITHDRAWAL_NOT_FOUND')
  for (const { status, json } of await Promise.all([cancel(id), cancel(id), cancel(id)]))
    expect([status, json.status]).toEqual([200, 'CANCELLED'])
  expect(await balanceOf(sandbox, buyer)).toBe(before)
  const key = randomUUID()
  expectRefused(await post(sandbox, `/withdrawals/${id}/commit`, { key }), 409, 'WITHDRAWAL_CANCELLED')
  expect(recordsOf(sandbox.dataDir, key)).toEqual([])
  const sent = (await post(sandbox, '/withdrawals', { body: withdrawal })).json.id
  await post(sandbox, `/withdrawals/${sent}/commit`)
  expectRefused(await cancel(sent), 409, 'WITHDRAWAL_COMMITTED')
  expect((await get(sandbox, '/ledger')).json.sum).toBe('0.00')
})

test('of twenty that would spend all that is there, one does', async () => {
  const tenant = globex
  const body = { user_id: 'usr_globex_dan', amount: '6000.00', currency: 'USD', destination: { ref: 'acc_1' } }
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(sandbox, '/withdrawals', { body, tenant })))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect(await balanceOf(sandbox, 'usr_globex_dan')).toBe('4000.00')
})

test('a POST that has nothing to say may send no body, an empty one, or an empty object', async () => {
  for (const init of [{}, { body: '' }, { body: '{}' }]) {
    const id = await orderAfter(sandbox, 'none')
    const headers = { ...acme, 'idempotency-key': randomUUID(), 'content-type': 'application/json' }
    const { status } = await ask(sandbox, `/orders/${id}/reserve`, { method: 'POST', headers, ...init })
    expect([init, status]).toEqual([init, 200])
  }
})

test('a body that is no object is a 400 also where nothing has to be said, and its key is free afterwards', async () => {
  const { disputeId, orderId } = await disputedOrder(sandbox)
  const { id: withdrawalId } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
  const key = randomUUID()
  const steps = ['reserve', 'escrow', 'escrow/fund', 'release', 'refund', 'disputes'].map(
    (step) => `orders/${orderId}/${step}`,
  )
  for (const path of [...steps, `disputes/${disputeId}/resolve`, `withdrawals/${withdrawalId}/commit`])
    for (const body of [[1], 'text', 7, true])
      expectRefused(await post(sandbox, `/${path}`, { key, body }), 400, 'REQUEST_INVALID')
  expect(recordsOf(sandbox.dataDir, key)).toEqual([])
})

test('lists are paged, the newest first, and show nothing of another tenant', async () => {
  const ids = []
  for (let count = 0; count < 3; count++) ids.unshift(await orderAfter(sandbox, 'none'))
  const first = (await get(sandbox, '/orders?limit=2')).json as unknown as { orders: { id: string }[]; next: string }
  const second = (await get(sandbox, `/orders?limit=2&after=${first.next}`)).json as unknown as typeof first
  expect([...first.orders, ...second.orders].slice(0, 3).map(({ id }) => id)).toEqual(ids)
  expect((await get(sandbox, '/orders', globex)).json).toEqual({ orders: [] })
  for (const query of ['limit=0', 'limit=201', 'limit=x', 'after=%00'])
    expectRefused(await get(sandbox, `/orders?${query}`), 400, 'REQUEST_INVALID')
  const books = (await get(sandbox, '/ledger?limit=1')).json as { transfers: unknown[]; next: string }
  expect([books.transfers.length, typeof books.next]).toEqual([1, 'string'])
})
