import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { type Answer, acme, pay, post, tea } from '../sandbox/payment-client.js'
import { untilRunning } from '../sandbox/test-database.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { bytesOf, recordOf } from './support/database.js'
import { openShop } from './support/shop.js'

/** Duplicates that come at one time: one runs, the others are told to come back. */

onBothDatabases((start) => {
  /** Holds every payment for a while, so that a duplicate meets it. */
  let slow: BlackBox
  beforeAll(async () => {
    slow = await start({ env: { SANDBOX_DELAY_MS: '1500' } })
  })

  test('a duplicate of what still runs gets 409 with a Retry-After in whole seconds [S1-032 S1-101 R-15]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const running = pay(slow, attempt)
    await untilRunning(slow, attempt.key)
    const duplicate = await pay(slow, attempt)
    expect(duplicate.status).toBe(409)
    expect(duplicate.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect((await running).status).toBe(201)
    expect(await slow.paymentsOf(attempt.body)).toHaveLength(1)
  })

  test('the 409 is a problem that says what happens and when to come back [R-18]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const running = pay(slow, attempt)
    await untilRunning(slow, attempt.key)
    const { status, headers, json } = await pay(slow, attempt)
    expect([status, headers.get('content-type')]).toEqual([409, 'application/problem+json'])
    expect(json).toMatchObject({
      type: expect.stringContaining('idempotency_key_in_progress'),
      title: expect.stringMatching(/still running/),
      status: 409,
      detail: expect.stringMatching(/same key again/),
      retry_after: Number(headers.get('retry-after')),
    })
    await running
  })

  test('the lock has its time in the record while a duplicate meets it, and is gone with the answer [S1-058]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const lock = async () => {
      const { status, created_at, locked_at = created_at, locked_until } = await slow.recordOf(attempt.key)
      return { status, locked_at, locked_until }
    }
    const running = pay(slow, attempt)
    await untilRunning(slow, attempt.key)
    const held = await lock()
    const duplicate = await pay(slow, attempt)
    expect(held).toEqual({ status: 'in_progress', locked_at: expect.any(Number), locked_until: expect.any(Number) })
    expect(Number(held.locked_until)).toBeGreaterThan(Number(held.locked_at))
    expect([duplicate.status, duplicate.headers.get('retry-after')]).toEqual([409, expect.stringMatching(/^\d+$/)])
    await running
    expect(await lock()).toMatchObject({ status: 'completed', locked_until: null })
  })

  test('while one runs another body is a reused key, the same body is in progress, later a replay [S4-58]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const running = pay(slow, attempt)
    await untilRunning(slow, attempt.key)
    const other = await pay(slow, { ...attempt, body: tea() })
    const same = await pay(slow, attempt)
    expect(other).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused_with_different_payload' } })
    expect(same).toMatchObject({ status: 409, json: { code: 'idempotency_key_in_progress' } })
    const first = await running
    expect((await pay(slow, attempt)).text).toBe(first.text)
  })

  test('our own refusals are never stored as the answer of a key', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const send = (body: string) => post(slow, body, { ...acme, 'idempotency-key': attempt.key })
    const refused = [await send('{'), await send('{"amountCents":-1}')]
    const running = pay(slow, attempt)
    await untilRunning(slow, attempt.key)
    refused.push(await pay(slow, attempt), await pay(slow, { ...attempt, body: tea() }))
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 409, 422])
    const first = await running
    expect([first.status, (await pay(slow, attempt)).text]).toEqual([201, first.text])
    const record = await slow.recordOf(attempt.key)
    expect(bytesOf(record.response_body).toString()).toBe(first.text)
    expect(record).toMatchObject({ status: 'completed', attempt: 1, response_status_code: 201 })
  })

  test('four nodes of the API on one database: of what comes to all of them at once, one performs it [S1-100]', async () => {
    const first = await start()
    const nodes = [...first.nodes]
    while (nodes.length < 4) nodes.push(...(await first.another()).nodes)
    for (let round = 0; round < 25; round++) {
      const attempt = { key: randomUUID(), body: tea() }
      const answers = await Promise.all([...nodes, ...nodes].map((node) => pay(node, attempt)))
      const ran = answers.filter(({ status, headers }) => status === 201 && !headers.has('idempotent-replayed'))
      expect(ran).toHaveLength(1)
      expect(answers.every((answer) => answer.status === 409 || answer.text === (ran[0] as Answer).text)).toBe(true)
      expect(await first.paymentsOf(attempt.body)).toEqual([ran[0]?.json.id])
    }
  }, 60_000)
})

test('of fifty that come at once to a new key one creates the record, and it is there before it runs [S4-59]', async () => {
  const { hapax, policy, path, charge, charges } = await openShop()
  const states: unknown[] = []
  const racers = Array.from({ length: 50 }, () =>
    hapax.run({ scope: 'acme', key: 'k', policy: policy() }, async () => {
      states.push(recordOf(path, 'k').status)
      return charge('ch_1')
    }),
  )
  const results = await Promise.allSettled(racers)
  expect([states, charges]).toEqual([['in_progress'], ['ch_1']])
  for (const result of results) {
    if (result.status === 'fulfilled') expect(result.value.value).toEqual({ charge: 'ch_1' })
    else expect(result.reason).toMatchObject({ code: 'idempotency_key_in_progress' })
  }
})

test('two identical requests at once, where duplicates wait: one creates, both get the same bytes [S1-095]', async () => {
  const { hapax, charge, charges } = await openShop()
  const policy = hapax.policy({ name: 'payments.create', concurrency: 'wait' })
  const request = { scope: 'acme', key: randomUUID(), input: tea(), policy }
  const both = await Promise.all([1, 2].map(() => hapax.run(request, () => charge('once'))))
  expect(charges).toEqual(['once'])
  expect(both.map(({ value }) => JSON.stringify(value))).toEqual(['{"charge":"once"}', '{"charge":"once"}'])
  expect(both.map(({ replayed }) => replayed).sort()).toEqual([false, true])
})
