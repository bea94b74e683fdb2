import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { acme, ask, coffee, globex, pay } from './payment-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { onEachDatabase, type TestDatabase } from './test-database.js'

onEachDatabase((fresh) => {
  let database: TestDatabase
  let sandbox: SandboxProcess
  beforeAll(async () => {
    database = await fresh()
    sandbox = await database.start()
  })

  test('a payment is created, found by its tenant and nobody else', async () => {
    const created = await pay(sandbox, { body: { ...coffee, currency: 'KRW', metadata: { order: 'A-17' } } })
    expect(created.status).toBe(201)
    expect(created.json).toEqual({
      id: expect.stringMatching(/^pay_[0-9a-f-]{36}$/),
      customerId: 'cus_1',
      amountCents: 450,
      currency: 'KRW',
      metadata: { order: 'A-17' },
      status: 'created',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    const location = created.headers.get('location')
    expect(location).toBe(`/payments/${created.json.id}`)
    const found = await ask(sandbox, String(location), { headers: acme })
    expect(found).toMatchObject({ status: 200, json: created.json })
    expect((await ask(sandbox, String(location), { headers: globex })).status).toBe(404)
  })

  test('a currency that is not supported is 400 and reserves nothing', async () => {
    await expectRefused([
      { ...coffee, currency: 'BTC' },
      { ...coffee, currency: 'usd' },
      { customerId: 'cus_1', amountCents: 450 },
    ])
  })

  test('a customerId that is empty, or no plain text of 255 characters at most, is 400 and reserves nothing', async () => {
    const { customerId, ...anonymous } = coffee
    await expectRefused([anonymous])
    const values = ['', '  ', 7, null, customerId.repeat(52), 'a\0b', '\ud800']
    await expectRefused(values.map((value) => ({ ...coffee, customerId: value })))
  })

  test('an amount that is not a whole number from 1 to 99999999999 is 400 and reserves nothing', async () => {
    const values = [0, 1.5, -1, '450', null, 100_000_000_000, Number.MAX_SAFE_INTEGER]
    await expectRefused(values.map((amountCents) => ({ ...coffee, amountCents })))
    await expectRefused([{ customerId: 'cus_1', currency: 'USD' }])
  })

  test('whatever is wrong with a body, it leaves no row', async () => {
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`m${index}`, '']))
    const metadata = [
      ['a'],
      'a',
      null,
      { a: 1 },
      { a: { b: 'c' } },
      { a: 'x'.repeat(501) },
      { ['n'.repeat(41)]: '' },
      many,
    ]
    await expectRefused(metadata.map((value) => ({ ...coffee, metadata: value })))
    await expectRefused([null, [coffee], 'coffee', 450, {}])
  })

  /** Each body is refused before its key is looked at, so that the same key is as good as new. */
  async function expectRefused(bodies: readonly unknown[]): Promise<void> {
    const key = randomUUID()
    for (const body of bodies) {
      const refused = await pay(sandbox, { key, body })
      expect(refused, JSON.stringify(body)).toMatchObject({
        status: 400,
        json: { code: 'request_invalid', status: 400 },
      })
      expect(refused.headers.get('content-type')).toBe('application/problem+json')
    }
    expect(await database.recordsOf(key)).toEqual([])
    const accepted = await pay(sandbox, { key })
    expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([201, null])
  }
})
