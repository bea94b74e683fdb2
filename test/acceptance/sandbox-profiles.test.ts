import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { asked, withdraw } from '../sandbox/bank-client.js'
import { fault, order, orderAfter, post } from '../sandbox/marketplace-client.js'
import { type Answer, acme, ask, globex, pay, tea } from '../sandbox/payment-client.js'
import { ledger, tell } from '../sandbox/providers-process.js'
import { eventually, get, isReplay, postJson, retriedUntil, trip } from '../sandbox/sandbox-client.js'
import { untilRunning } from '../sandbox/test-database.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** What each system of the sandbox answers: in the words of its profile, and the same whichever node is asked. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
  })

  const slowCard = () => fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 1_000 })

  test('an answer is kept with its status whether it went well or not: 201, a declined card, a 500 [S0-09 S2-046]', async () => {
    const rides = [
      [201, trip],
      [402, trip],
      [500, { ...trip, paymentMethod: 'pm_card_processing_error' }],
    ] as const
    for (const [status, body] of rides) {
      const key = randomUUID()
      if (status === 402) await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'decline' })
      const before = (await ledger(sandbox, '?provider=card')).length
      const first = await postJson(sandbox, '/rides', body, { key })
      const again = await postJson(sandbox, '/rides', body, { key })
      expect([first.status, again.status, again.text, isReplay(again)]).toEqual([status, status, first.text, true])
      expect(await sandbox.recordOf(key)).toMatchObject({ status: 'completed', response_status_code: status })
      expect(await ledger(sandbox, '?provider=card')).toHaveLength(before + (status === 201 ? 1 : 0))
    }
  })

  test('the profile of each route is published, and what it answers is what it says there [S3-21 S2-139]', async () => {
    const routes = (await get(sandbox, '/idempotency/policy')).json.routes as readonly Route[]
    const systems: readonly (readonly [name: string, profile: string, reused: number, send: Send])[] = [
      ['payments.create', 'ietf', 422, (key, amount) => pay(sandbox, { key, body: { ...tea(), amountCents: amount } })],
      [
        'rides.create',
        'stripe',
        400,
        (key, amountCents) => postJson(sandbox, '/rides', { ...trip, amountCents }, { key }),
      ],
      [
        'bank.withdraw',
        'finastra',
        422,
        (key, amount) => withdraw(sandbox, { key, form: { ...asked, amount: `${amount}` } }),
      ],
      [
        'orders.create',
        'marketplace',
        409,
        (key, amount) => post(sandbox, '/orders', { key, body: { ...order, amount: `${amount}.00` } }),
      ],
    ]
    for (const [name, profile, reused, send] of systems) {
      const told = routes.find((route) => route.name === name)
      expect([name, told?.profile, told?.statuses.idempotency_key_reused_with_different_payload]).toEqual([
        name,
        profile,
        reused,
      ])
      const key = randomUUID()
      expect((await send(key, 7)).status).toBe(201)
      expect([name, (await send(key, 8)).status]).toEqual([name, reused])
      expect([name, (await send('k'.repeat(256), 7)).status]).toEqual([name, told?.statuses.idempotency_key_malformed])
    }
  })

  test('a repeat of a payment is byte for byte the first answer; at the bank it is the same withdrawal as it stands now [S2-141]', async () => {
    const [key, body] = [randomUUID(), tea()]
    const first = await pay(sandbox, { key, body })
    expect((await pay(sandbox, { key, body })).text).toBe(first.text)
    const pending = await withdraw(sandbox, { key: 'stands-now' })
    expect(pending).toMatchObject({ status: 201, json: { status: 'pending' } })
    const path = `/sb/v1/withdrawals/${pending.json.id}`
    const headers = { authorization: `Basic ${btoa('sk_test_BQokikJOvBiI2HlWgH4olfQ2:')}` }
    await eventually(async () => expect((await ask(sandbox, path, { headers })).json.status).toBe('completed'))
    const now = await withdraw(sandbox, { key: 'stands-now' })
    expect(now).toMatchObject({ status: 201, json: { ...pending.json, status: 'completed' } })
  })

  test('while a payment runs its key is 409 with a Retry-After, and then the first result is everybody’s [S2-020 S3-65]', async () => {
    const [key, body] = [randomUUID(), tea()]
    await slowCard()
    const running = pay(sandbox, { key, body })
    await untilRunning(sandbox, key)
    const met = await pay(sandbox, { key, body })
    expect(met.status).toBe(409)
    expect([met.json.code, met.headers.get('retry-after')]).toEqual([
      'idempotency_key_in_progress',
      expect.stringMatching(/^[1-9]\d*$/),
    ])
    const first = await running
    const again = await retriedUntil(201, () => pay(sandbox, { key, body }))
    expect([first.status, isReplay(again), again.text]).toEqual([201, true, first.text])
  })

  test('the marketplace says in these very words that a key was used for another order [S4-08 S4-09 S4-64]', async () => {
    const key = 'my-static-key'
    expect((await post(sandbox, '/orders', { key, body: order })).status).toBe(201)
    const next = await post(sandbox, '/orders', { key, body: { ...order, amount: '7.00' } })
    expect([next.status, next.text]).toEqual([
      409,
      '{"error":{"code":"IDEMPOTENCY_KEY_REUSED","message":"This idempotency key was used with a different request body"}}',
    ])
    expect(next.headers.get('content-type')).toMatch(/^application\/json/)
    expect((await post(sandbox, '/orders', { body: { ...order, amount: '7.00' } })).status).toBe(201)
  })

  test('the marketplace says in these very words that a key is still in use, whichever node is asked [S4-10 S4-11]', async () => {
    const id = await orderAfter(sandbox, 'escrow')
    const key = randomUUID()
    await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode: 'slow', ms: 1_000 })
    const running = post(sandbox, `/orders/${id}/escrow/fund`, { key })
    await untilRunning(sandbox, key)
    const met = await post(sandbox, `/orders/${id}/escrow/fund`, { key })
    expect(met.status).toBe(409)
    expect(met.text).toBe(
      '{"error":{"code":"IDEMPOTENCY_KEY_IN_PROGRESS","message":"A request with this key is still being processed"}}',
    )
    expect(met.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(await running).toMatchObject({ status: 200, json: { status: 'ESCROW_FUNDED' } })
  })

  test('a refusal of the business, a conflict, misuse and a broken store: each has its status, its code and its way on [S2-145]', async () => {
    const own = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
    const seen = ({ status, headers, json }: Answer) => {
      const { code } = (json.error ?? json) as { code: string }
      return [status, code, headers.has('retry-after') ? 'again later' : 'not again']
    }
    const printed = () => own.nodes.map(({ printed }) => printed.stderr).join('')
    const [used, declined, running] = [randomUUID(), randomUUID(), randomUUID()]
    const body = tea()
    await pay(own, { key: used, body })

    await fault(own, { provider: 'card', operation: 'charge', mode: 'decline' })
    expect(seen(await pay(own, { key: declined }))).toEqual([402, 'card_declined', 'not again'])
    expect(await own.recordsOf(declined)).toMatchObject([{ status: 'completed' }])

    const id = await orderAfter(own, 'escrow/fund')
    await post(own, `/orders/${id}/release`)
    const refused = { key: randomUUID() }
    expect(seen(await post(own, `/orders/${id}/refund`, refused))).toEqual([409, 'ORDER_RELEASED', 'not again'])
    expect(await own.recordsOf(refused.key)).toEqual([])

    const misuse = await pay(own, { key: used, body: tea() })
    expect(seen(misuse)).toEqual([422, 'idempotency_key_reused_with_different_payload', 'not again'])

    await fault(own, { provider: 'card', operation: 'charge', mode: 'slow', ms: 1_500 })
    const slow = pay(own, { key: running, body })
    await untilRunning(own, running)
    expect(seen(await pay(own, { key: running, body }))).toEqual([409, 'idempotency_key_in_progress', 'again later'])
    expect((await slow).status).toBe(201)

    // What a client did is no news for the log. A store that fails is.
    expect(printed()).not.toMatch(/store|failed/)
    const down = await own.withoutDatabase(() => pay(own, { key: randomUUID(), body: tea() }))
    expect(seen(down)).toEqual([503, 'idempotency_store_unavailable', 'again later'])
    await eventually(async () => expect(printed()).toMatch(/^store_\w+: the database failed to /m))
  })

  test('the first answer and each replay say until when the key is good, which is what the record says [S1-087]', async () => {
    const [key, body] = [randomUUID(), tea()]
    const told = [await pay(sandbox, { key, body }), await pay(sandbox, { key, body })].map(({ headers }) =>
      Date.parse(headers.get('idempotency-key-expires') ?? ''),
    )
    const until = Number((await sandbox.recordOf(key)).expires_at)
    expect(told).toEqual([Math.floor(until / 1_000) * 1_000, Math.floor(until / 1_000) * 1_000])
  })

  test('the key at the card processor is made from the request and is the same on every attempt: one charge [S1-039 S1-075]', async () => {
    const key = randomUUID()
    const before = (await ledger(sandbox, '?provider=card')).length
    // It did it, and said that it could not: whoever came again with another key would be charged again.
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'error_500_after_effect' })
    const { json } = await retriedUntil(201, () => postJson(sandbox, '/rides', trip, { key }))
    expect((await tell(sandbox, 'GET', '/_providers/faults')).json.faults).toEqual([])
    const charges = (await ledger(sandbox, '?provider=card')).slice(before)
    expect(charges).toMatchObject([
      { operation: 'charge', reference: json.id, key: expect.stringMatching(/^[\w-]{20,}$/) },
    ])
    expect(charges[0]?.key).not.toBe(key)
  })

  test('a key of another tenant is 404, in the same bytes as one that nobody used, and runs anew for him [S1-063]', async () => {
    const [key, body] = [randomUUID(), tea()]
    const ours = await pay(sandbox, { key, body })
    const state = (of: string, tenant = globex) =>
      ask(sandbox, '/idempotency/status', { headers: { ...tenant, 'idempotency-key': of } })
    expect(await state(key, acme)).toMatchObject({ status: 200, json: { state: 'completed' } })
    const [foreign, never] = [await state(key), await state(randomUUID())]
    expect([foreign.status, foreign.text]).toEqual([404, never.text])
    const theirs = await pay(sandbox, { key, body, tenant: globex })
    expect([theirs.status, isReplay(theirs), theirs.json.id === ours.json.id]).toEqual([201, false, false])
  })

  test('who asks for keys again and again gets 429 and is told when to come back; others may ask [S1-080]', async () => {
    // Each node counts for itself.
    const [node] = sandbox.nodes
    if (node === undefined) throw new Error('there is no node')
    const guess = (tenant = globex) =>
      ask(node, '/idempotency/status', { headers: { ...tenant, 'idempotency-key': randomUUID() } })
    const statuses: number[] = []
    while (statuses.at(-1) !== 429 && statuses.length < 100) statuses.push((await guess()).status)
    expect([statuses.at(-1), statuses.length <= 61]).toEqual([429, true])
    expect((await guess()).headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await guess(acme)).status).toBe(404)
  })
})

type Send = (key: string, amount: number) => Promise<Answer>

interface Route {
  readonly name: string
  readonly profile: string
  readonly statuses: Readonly<Record<string, number>>
}
