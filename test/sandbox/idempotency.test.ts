import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { lostReply } from './lost-reply.js'
import { type Answer, acme, coffee, exchange, globex, pay, post, rawPayment, tea } from './payment-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { onEachDatabase, type TestDatabase, untilRunning } from './test-database.js'

onEachDatabase((fresh) => {
  let database: TestDatabase
  let sandbox: SandboxProcess
  let slow: SandboxProcess
  beforeAll(async () => {
    database = await fresh()
    sandbox = await database.start()
    slow = await database.start({ SANDBOX_DELAY_MS: '400' })
  })

  test('a retry gets the same bytes, is marked, and creates nothing', async () => {
    const key = randomUUID()
    const body = tea()
    const first = await pay(sandbox, { key, body })
    const again = await pay(sandbox, { key, body })
    expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(again.text).toBe(first.text)
    expect(again.headers.get('location')).toBe(first.headers.get('location'))
    expect(again.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(again.headers.get('cache-control')).toBe('no-store')
    expect(await database.paymentsOf(body)).toEqual([first.json.id])
  })

  test('the same JSON written another way is the same request', async () => {
    const headers = { ...acme, 'idempotency-key': randomUUID() }
    const first = await post(sandbox, '{"customerId":"cus_1","amountCents":450,"currency":"USD"}', headers)
    const again = await post(
      sandbox,
      ' { "currency": "USD", "amountCents": 4.5e2, "customerId": "cus_\\u0031" } ',
      headers,
    )
    expect([again.status, again.text]).toEqual([201, first.text])
  })

  test.each([
    ['a number beyond the doubles', '"ref":12345678901234567890', '"ref":12345678901234567891'],
    ['a member that is there twice', '"ref":1,"ref":450', '"ref":2,"ref":450'],
    ['100,000 brackets', `"ref":${'['.repeat(100_000)}${']'.repeat(100_000)}`, '"ref":[]'],
  ])('the body counts as it came: %s replays, and changed it is another request', async (_, once, changed) => {
    const headers = { ...acme, 'idempotency-key': randomUUID() }
    const body = (extra: string) => `{"customerId":"cus_1","amountCents":450,"currency":"USD",${extra}}`
    const first = await post(sandbox, body(once), headers)
    const again = await post(sandbox, body(once), headers)
    expect([first.status, again.status, again.text]).toEqual([201, 201, first.text])
    expect((await post(sandbox, body(changed), headers)).status).toBe(422)
  })

  test('"k" and k are the same key', async () => {
    const first = await pay(sandbox, { key: '"order-17"' })
    const again = await pay(sandbox, { key: 'order-17' })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.text).toBe(first.text)
  })

  test('400 for a key that is missing, malformed or of 256 characters, and nothing runs', async () => {
    const body = tea()
    const missing = await post(sandbox, JSON.stringify(body), acme)
    expect(missing).toMatchObject({ status: 400, json: { code: 'idempotency_key_missing' } })
    for (const key of ['', '""', '"k', 'a, b', 'a b', 'k'.repeat(256), `"${'k'.repeat(256)}"`, 'k\u00e9y']) {
      const malformed = await pay(sandbox, { key, body })
      expect(malformed, key).toMatchObject({ status: 400, json: { code: 'idempotency_key_malformed', status: 400 } })
      expect(malformed.headers.get('content-type')).toBe('application/problem+json')
      expect(malformed.headers.get('cache-control')).toBe('no-store')
    }
    expect(await database.paymentsOf(body)).toEqual([])
    expect((await pay(sandbox, { key: 'k'.repeat(255), body })).status).toBe(201)
  })

  test('400 for two key lines, whatever they make when joined, and for a control character', async () => {
    const body = tea()
    for (const lines of [
      ['Idempotency-Key: k', 'idempotency-key: k'],
      ['Idempotency-Key: "one', 'Idempotency-Key: key"'],
      ['Idempotency-Key: a\x01b'],
    ]) {
      const answer = await exchange(sandbox, rawPayment(body, lines))
      expect(answer).toMatch(/^HTTP\/1.1 400 /)
      expect(answer).toMatch(/^content-type: application\/problem\+json\r$/im)
      expect(answer).toMatch(/\r\n\r\n\{"type":"[^"]+","title":"[^"]+","status":400,/)
    }
    expect(await database.paymentsOf(body)).toEqual([])
    expect(await exchange(sandbox, rawPayment(body, ['Idempotency-Key: k']))).toMatch(/^HTTP\/1.1 201 /)
  })

  test('422 for another body under the same key, and the first answer stays', async () => {
    const key = randomUUID()
    const first = await pay(sandbox, { key })
    for (const body of [
      { ...coffee, amountCents: 451 },
      { ...coffee, metadata: {} },
      { ...coffee, note: 'more' },
    ]) {
      const other = await pay(sandbox, { key, body })
      const code = 'idempotency_key_reused_with_different_payload'
      expect(other).toMatchObject({ status: 422, json: { code, status: 422 } })
      expect(other.headers.get('content-type')).toBe('application/problem+json')
      expect(other.text).not.toContain(String(first.json.id))
    }
    expect((await pay(sandbox, { key })).text).toBe(first.text)
  })

  test('409 with a Retry-After in whole seconds while the first still runs, then its answer', async () => {
    const key = randomUUID()
    const answers = await Promise.all([pay(slow, { key }), pay(slow, { key })])
    const [created, duplicate] = answers.sort((a, b) => a.status - b.status) as [Answer, Answer]
    expect([created.status, duplicate.status]).toEqual([201, 409])
    expect(duplicate.headers.get('content-type')).toBe('application/problem+json')
    expect(duplicate.headers.get('cache-control')).toBe('no-store')
    expect(duplicate.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(duplicate.json).toMatchObject({
      code: 'idempotency_key_in_progress',
      retry_after: Number(duplicate.headers.get('retry-after')),
    })
    expect((await pay(slow, { key })).text).toBe(created.text)
  })

  test('of twenty that come at once one creates a payment; the others get it, or are told to wait', async () => {
    const key = randomUUID()
    const body = tea()
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(sandbox, { key, body })))
    const created = answers.filter(({ status }) => status === 201)
    expect(created.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(new Set(created.map(({ text }) => text)).size).toBe(1)
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    expect(await database.paymentsOf(body)).toHaveLength(1)
  })

  test('two tenants may choose the same key', async () => {
    const key = randomUUID()
    const [ours, theirs] = await Promise.all([pay(sandbox, { key }), pay(sandbox, { key, tenant: globex })])
    expect([ours.status, theirs.status]).toEqual([201, 201])
    expect(ours.json.id).not.toBe(theirs.json.id)
    expect((await pay(sandbox, { key, tenant: globex })).text).toBe(theirs.text)
    expect(await database.recordsOf(key)).toHaveLength(2)
  })

  test('409 outcome_unknown when nobody can know what happened, and nothing runs', async () => {
    const key = randomUUID()
    const body = tea()
    await database.withStore((store) => lostReply(store, key, body))
    const answer = await pay(sandbox, { key, body })
    expect(answer).toMatchObject({ status: 409, json: { code: 'outcome_unknown', retry_after: 30 } })
    expect(answer.headers.get('retry-after')).toBe('30')
    expect(await database.paymentsOf(body)).toEqual([])
  })

  test('a client that goes away changes nothing: its payment is created once and waits for the retry', async () => {
    const key = randomUUID()
    const body = tea()
    const leave = new AbortController()
    const headers = { ...acme, 'content-type': 'application/json', 'idempotency-key': key }
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leave.signal }
    const left = fetch(`${slow.url}/payments`, init)
    await untilRunning(database, key)
    leave.abort()
    await expect(left).rejects.toThrow()
    await expect
      .poll(async () => (await pay(slow, { key, body })).headers.get('idempotent-replayed'), { timeout: 5_000 })
      .toBe('true')
    expect(await database.paymentsOf(body)).toHaveLength(1)
  })
})
