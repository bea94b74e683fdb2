import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import {
  centsOf,
  disputedOrder,
  escrowCalls,
  expectBalanced,
  get,
  order,
  orderAfter,
  payments,
  post,
  seller,
  topup,
  withdrawal,
} from '../sandbox/marketplace-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** What was done answers what there is, whatever key it comes with: keys protect a request, rows protect a thing. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated' })
  })
  afterEach(() => expectBalanced(sandbox))

  /** Ten requests at once, each with a key of its own. */
  function tenTimes(path: string, body?: object) {
    return Promise.all(Array.from({ length: 10 }, () => post(sandbox, path, body === undefined ? {} : { body })))
  }

  test('a top-up that exists is answered with the same topup_id and confirmation_uri, and asked for once [S4-33]', async () => {
    const key = randomUUID()
    const { json } = await post(sandbox, '/topups', { key, body: topup })
    const answers = [
      await post(sandbox, '/topups', { key, body: topup }),
      await post(sandbox, '/topups', { key, body: topup }),
    ]
    expect(json).toMatchObject({ status: 'PENDING', confirmation_uri: expect.stringMatching(/^https:/) })
    for (const answer of answers) expect(answer).toMatchObject({ status: 201, json })
    expect(await payments(sandbox, json.topup_id)).toHaveLength(1)
  })

  test('orders with one client_order_ref are one order, under whatever keys [S4-35 S4-65]', async () => {
    const body = { ...order, client_order_ref: `MY-SYSTEM-ORD-${randomUUID()}` }
    const answers = await tenTimes('/orders', body)
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201])
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(1)
    const another = await post(sandbox, '/orders', { body: { ...body, amount: '7.00' } })
    expect(another).toMatchObject({ status: 409, json: { error: { code: 'CLIENT_ORDER_REF_REUSED' } } })
    const ofGlobex = { ...body, buyer_id: 'usr_globex_cleo', seller_id: 'usr_globex_dan' }
    const elsewhere = { body: ofGlobex, tenant: { authorization: 'Bearer ohk_test_globex' } }
    expect((await post(sandbox, '/orders', elsewhere)).status).toBe(201)
  })

  test('an order that is reserved answers 200 and FUNDS_RESERVED; its money is set aside once [S4-36]', async () => {
    const id = await orderAfter(sandbox, 'none')
    const before = await centsOf(sandbox, order.buyer_id)
    for (const { status, json } of await tenTimes(`/orders/${id}/reserve`))
      expect([status, json.status]).toEqual([200, 'FUNDS_RESERVED'])
    const again = await post(sandbox, `/orders/${id}/reserve`)
    expect(again).toMatchObject({ status: 200, json: { id, status: 'FUNDS_RESERVED' } })
    expect(before - (await centsOf(sandbox, order.buyer_id))).toBe(10_000)
  })

  test('an order has one escrow: every key is answered with its escrow_id [S4-37]', async () => {
    const id = await orderAfter(sandbox, 'reserve')
    const answers = [...(await tenTimes(`/orders/${id}/escrow`)), await post(sandbox, `/orders/${id}/escrow`)]
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(new Set(answers.map(({ json }) => json.escrow_id)).size).toBe(1)
    expect(answers.at(-1)).toMatchObject({ status: 200, json: { status: 'ESCROW_CREATING' } })
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1 })
  })

  test.for([
    ['release', 'RELEASED'],
    ['refund', 'REFUNDED'],
  ] as const)(
    'an escrow is answered also after the %s of its order, and no second one is made [S4-37]',
    async ([end, status]) => {
      const id = await orderAfter(sandbox, 'escrow/fund')
      const { escrow_id } = (await get(sandbox, `/orders/${id}`)).json
      expect((await post(sandbox, `/orders/${id}/${end}`)).status).toBe(200)
      const again = await post(sandbox, `/orders/${id}/escrow`)
      expect(again).toMatchObject({ status: 200, json: { escrow_id, status } })
      expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1, [end]: 1 })
    },
  )

  test('an escrow that is funded answers 200 and ESCROW_FUNDED, and is never funded twice [S4-38]', async () => {
    const id = await orderAfter(sandbox, 'escrow')
    for (const { status, json } of await tenTimes(`/orders/${id}/escrow/fund`))
      expect([status, json.status]).toEqual([200, 'ESCROW_FUNDED'])
    const again = await post(sandbox, `/orders/${id}/escrow/fund`)
    expect(again).toMatchObject({ status: 200, json: { id, status: 'ESCROW_FUNDED' } })
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1 })
  })

  test.for([
    ['release', 'RELEASED', 'refund', 'ORDER_RELEASED'],
    ['refund', 'REFUNDED', 'release', 'ORDER_REFUNDED'],
  ] as const)(
    'a %s is final, done once in Trustless Work, and its reverse is refused [S4-39]',
    async ([end, status, reverse, code]) => {
      const id = await orderAfter(sandbox, 'escrow/fund')
      const who = end === 'release' ? seller : order.buyer_id
      const before = await centsOf(sandbox, who)
      for (const answer of await tenTimes(`/orders/${id}/${end}`))
        expect(answer).toMatchObject({ status: 200, json: { status } })
      expect(await post(sandbox, `/orders/${id}/${end}`)).toMatchObject({ status: 200, json: { id, status } })
      expect(await post(sandbox, `/orders/${id}/${reverse}`)).toMatchObject({ status: 409, json: { error: { code } } })
      expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1, [end]: 1 })
      expect((await centsOf(sandbox, who)) - before).toBe(10_000)
    },
  )

  test('an order has one dispute: every key is answered with its dispute_id [S4-40]', async () => {
    const id = await orderAfter(sandbox, 'escrow/fund')
    const answers = [...(await tenTimes(`/orders/${id}/disputes`)), await post(sandbox, `/orders/${id}/disputes`)]
    expect(new Set(answers.map(({ json }) => json.dispute_id)).size).toBe(1)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.at(-1)).toMatchObject({ status: 200, json: { order_id: id, status: 'OPEN' } })
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1, dispute: 1 })
  })

  test('a dispute that is resolved answers with its resolution, whatever it is told, and ends its order once [S4-41]', async () => {
    const { disputeId, orderId } = await disputedOrder(sandbox)
    for (const end of ['release', 'refund'])
      expect(await post(sandbox, `/orders/${orderId}/${end}`)).toMatchObject({
        status: 409,
        json: { error: { code: 'ORDER_DISPUTED' } },
      })
    for (const { status } of await tenTimes(`/disputes/${disputeId}/resolve`, { decision: 'release' }))
      expect(status).toBe(200)
    const again = await post(sandbox, `/disputes/${disputeId}/resolve`, { body: { decision: 'refund' } })
    expect(again).toMatchObject({ status: 200, json: { status: 'RESOLVED', resolution: { decision: 'release' } } })
    expect((await get(sandbox, `/orders/${orderId}`)).json.status).toBe('RELEASED')
    expect(await escrowCalls(sandbox, orderId)).toEqual({ create: 1, fund: 1, dispute: 1, resolve: 1 })
    const late = await post(sandbox, `/orders/${orderId}/disputes`)
    expect(late).toMatchObject({ status: 200, json: { dispute_id: disputeId, status: 'RESOLVED' } })
  })

  test('a withdrawal that exists is answered with the same withdrawal_id; its money is taken and sent once [S4-43]', async () => {
    const key = randomUUID()
    const before = await centsOf(sandbox, withdrawal.user_id)
    const first = await post(sandbox, '/withdrawals', { key, body: withdrawal })
    const again = await post(sandbox, '/withdrawals', { key, body: withdrawal })
    expect([first.status, first.json.status, again.text]).toEqual([201, 'CREATED', first.text])
    const id = String(first.json.withdrawal_id)
    await tenTimes(`/withdrawals/${id}/commit`)
    expect((await post(sandbox, `/withdrawals/${id}/commit`)).status).toBe(200)
    expect(await payments(sandbox, id)).toHaveLength(1)
    expect(before - (await centsOf(sandbox, withdrawal.user_id))).toBe(1_000)
  })
})
