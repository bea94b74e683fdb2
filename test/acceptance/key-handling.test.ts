import { randomUUID } from 'node:crypto'
import { engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { beforeAll, expect, test } from 'vitest'
import { acme, exchange, pay, post, rawPayment, tea } from '../sandbox/payment-client.js'
import { faultyStore } from '../support/faulty-store.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { openShop } from './support/shop.js'

/** What is done with a key: a bad one reaches nothing, a strange one harms nothing, and nobody is told of any. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  test('a bad request that is sent again unchanged fails again in the same way [R-19]', async () => {
    const [key, body] = [randomUUID(), tea()]
    await pay(sandbox, { key, body })
    const bad = {
      missing: () => post(sandbox, JSON.stringify(body), acme),
      malformed: () => pay(sandbox, { key: 'two words', body }),
      reused: () => pay(sandbox, { key, body: { ...body, amountCents: 1 } }),
    }
    for (const [name, send] of Object.entries(bad)) {
      const first = await send()
      expect(first.status, name).toBe(name === 'reused' ? 422 : 400)
      for (const again of [await send(), await send()]) {
        expect([again.status, again.text], name).toEqual([first.status, first.text])
      }
    }
    expect(await sandbox.paymentsOf(body)).toHaveLength(1)
  })

  test('a malformed key is refused before the store is asked: 400 while the database is away [R-21]', async () => {
    const cut = await start()
    await cut.withoutDatabase(async () => {
      expect((await pay(cut)).status).toBe(503)
      for (const key of ['', 'two words', 'k'.repeat(256), 'a, b', 'k\u00e9y'])
        expect(await pay(cut, { key }), key).toMatchObject({ status: 400, json: { code: 'idempotency_key_malformed' } })
    })
  })

  test('a key of ten kilobytes is refused with 400 [X-16]', async () => {
    expect(await exchange(sandbox, rawPayment(tea(), [`Idempotency-Key: ${'k'.repeat(10_000)}`]))).toMatch(
      /^HTTP\/1.1 400 /,
    )
  })

  test('a key that looks like SQL is a key: kept to the letter, and nothing else is touched [X-13]', async () => {
    const bystander = { key: randomUUID(), body: tea() }
    const kept = await pay(sandbox, bystander)
    for (const text of [
      "'; DROP TABLE hapax_records; --",
      "' OR '1'='1",
      '%',
      '*',
      '?1',
      '$(id)',
      '{{7*7}}',
      '\\x00',
    ]) {
      const key = `${text}${randomUUID()}`
      const attempt = { key: `"${key.replaceAll('\\', '\\\\')}"`, body: tea() }
      const first = await pay(sandbox, attempt)
      expect([first.status, (await pay(sandbox, attempt)).text], text).toEqual([201, first.text])
      expect(await sandbox.recordsOf(key), text).toHaveLength(1)
    }
    expect((await pay(sandbox, bystander)).text).toBe(kept.text)
    expect(await exchange(sandbox, rawPayment(tea(), ['Idempotency-Key: a\rb']))).toMatch(/^HTTP\/1.1 400 /)
  })

  test('neither the problems nor the log of an API tell a key', async () => {
    const own = await start()
    const [key, body] = [`jane.doe-${randomUUID()}`, tea()]
    await pay(own, { key, body })
    const refused = [await pay(own, { key, body: tea() }), await pay(own, { key: `${key} ${key}` })]
    await own.withoutDatabase(async () => refused.push(await pay(own, { key, body: tea() })))
    expect(refused.map(({ status }) => status)).toEqual([422, 400, 503])
    for (const { text, headers } of refused) expect(text + JSON.stringify([...headers])).not.toContain(key)
    const said = own.nodes.map(({ printed }) => printed.stderr + printed.stdout).join('')
    expect(said).toContain('store')
    expect(said).not.toContain(key)
  })
})

test('no event, log line or message of ours holds a key [X-13]', async () => {
  const { hapax, policy, heard, logged, withoutDatabase } = await openShop()
  const key = 'jane.doe@example.com'
  const messages: string[] = []
  const run = (input: string, handler: () => Promise<unknown>) =>
    hapax.run({ scope: 'acme', key, input, policy: policy() }, handler).catch((error: Error) => {
      messages.push(error.message, String(error.cause), error.stack ?? '')
    })
  await run('a', () => run('a', async () => 'met in progress'))
  await run('a', async () => 'replayed')
  await run('b', async () => 'mismatched')
  await withoutDatabase(() => run('a', async () => 'unavailable'))
  expect(heard.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['reserved', 'met_in_progress', 'replayed', 'mismatched', 'store_failed']),
  )
  expect(messages.length).toBeGreaterThan(0)
  expect(JSON.stringify([heard, logged, messages])).not.toContain(key)
})

test('a key that is too long or odd is neither hashed nor looked up, and its handler never starts [X-16 S1-015]', async () => {
  const { store, asked } = faultyStore(memoryStore())
  const hapax = engine({ store })
  let [hashed, ran] = [0, 0]
  const own = { kind: 'own', id: 'counted', of: () => `${++hashed}` } as const
  const policy = hapax.policy({ name: 'payments.create', fingerprint: { strategy: own } })
  const attempt = (key: string) => hapax.run({ scope: 'acme', key, policy }, async () => ++ran)
  for (const key of ['', 'k'.repeat(256), 'k'.repeat(1_000_000), 'a\nb', 'a\0b', 'k\u00e9y', '\ud800']) {
    await expect(attempt(key)).rejects.toMatchObject({ code: expect.stringMatching(/^idempotency_key_m/) })
  }
  expect([hashed, ran, asked.size]).toEqual([0, 0, 0])

  await attempt('well-formed')
  expect([hashed, ran, asked.get('reserve')]).toEqual([1, 1, 1])
})
