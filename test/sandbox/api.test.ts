import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { recordsOf } from './database.js'
import { acme, ask, coffee, globex, pay, post } from './payment-client.js'
import { type SandboxProcess, startSandbox } from './sandbox-process.js'

let sandbox: SandboxProcess
beforeAll(async () => {
  sandbox = await startSandbox()
})

const problemJson = 'application/problem+json'

test('a payment is created, found by its tenant and nobody else [S2-017]', async () => {
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

test('the largest amount comes back as the number it was', async () => {
  const amountCents = Number.MAX_SAFE_INTEGER
  const { json } = await pay(sandbox, { body: { ...coffee, amountCents } })
  expect((await ask(sandbox, `/payments/${json.id}`, { headers: acme })).json.amountCents).toBe(amountCents)
})

const invalidBodies = {
  '[S2-036]': {
    'an empty customerId': { ...coffee, customerId: '' },
    'a blank customerId': { ...coffee, customerId: '  ' },
    'no customerId': { amountCents: 450, currency: 'USD' },
    'a customerId that is no text': { ...coffee, customerId: 7 },
    'a customerId of 256 characters': { ...coffee, customerId: 'c'.repeat(256) },
    'a customerId with a NUL': { ...coffee, customerId: 'a\0b' },
    'a customerId with a lone surrogate': { ...coffee, customerId: '\ud800' },
  },
  '[S2-037]': {
    'an amount of 0': { ...coffee, amountCents: 0 },
    'a negative amount': { ...coffee, amountCents: -1 },
    'an amount of 1.5': { ...coffee, amountCents: 1.5 },
    'an amount as text': { ...coffee, amountCents: '450' },
    'an amount that a number cannot hold': { ...coffee, amountCents: Number.MAX_SAFE_INTEGER + 1 },
    'no amount': { customerId: 'cus_1', currency: 'USD' },
  },
  '[S2-017]': {
    'a currency that is not supported': { ...coffee, currency: 'BTC' },
    'a currency in lower case': { ...coffee, currency: 'usd' },
    'no currency': { customerId: 'cus_1', amountCents: 450 },
  },
  '[S2-040]': {
    'metadata that is a list': { ...coffee, metadata: ['a'] },
    'metadata with a number in it': { ...coffee, metadata: { a: 1 } },
    'metadata with 51 members': {
      ...coffee,
      metadata: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`m${index}`, ''])),
    },
    'a list': [coffee],
    null: null,
  },
}

describe('a request that is refused reserves nothing: its key is as good as new', () => {
  for (const [ids, bodies] of Object.entries(invalidBodies)) {
    test(`400 for ${Object.keys(bodies).join(', ')} ${ids}`, async () => {
      const key = randomUUID()
      for (const body of Object.values(bodies)) {
        const refused = await pay(sandbox, { key, body })
        expect(refused).toMatchObject({ status: 400, json: { code: 'request_invalid', status: 400 } })
        expect(refused.headers.get('content-type')).toBe(problemJson)
      }
      expect(recordsOf(sandbox.dataDir, key)).toEqual([])
      const accepted = await pay(sandbox, { key })
      expect(accepted.status).toBe(201)
      expect(accepted.headers.get('idempotent-replayed')).toBeNull()
    })
  }

  test('401 without a token or with an unknown one, and it says which scheme', async () => {
    const key = randomUUID()
    for (const authorization of [undefined, 'Bearer', 'Bearer ohk_test_nobody', 'Basic b2hrX3Rlc3RfYWNtZTo=']) {
      const headers = { 'idempotency-key': key, ...(authorization !== undefined && { authorization }) }
      const refused = await post(sandbox, JSON.stringify(coffee), headers)
      expect(refused).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
      expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer realm=/)
    }
    expect((await ask(sandbox, '/payments/pay_1')).status).toBe(401)
    expect(recordsOf(sandbox.dataDir, key)).toEqual([])
  })

  test('400, 413 and 415 for a body that is no JSON, over 1 MB, or of another kind', async () => {
    const key = randomUUID()
    const headers = { ...acme, 'idempotency-key': key }
    for (const body of ['', '{', 'null null', new Uint8Array([0x22, 0xff, 0x22])]) {
      expect(await post(sandbox, body, headers)).toMatchObject({ status: 400, json: { code: 'body_not_json' } })
    }
    const large = JSON.stringify({ ...coffee, filler: 'x'.repeat(1_000_000) })
    expect(await post(sandbox, large, headers)).toMatchObject({ status: 413, json: { code: 'body_too_large' } })
    for (const kind of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }]) {
      const refused = await post(sandbox, JSON.stringify(coffee), { ...headers, ...kind })
      expect(refused).toMatchObject({ status: 415, json: { code: 'media_type_unsupported' } })
    }
    expect(recordsOf(sandbox.dataDir, key)).toEqual([])
    expect((await pay(sandbox, { key })).status).toBe(201)
  })

  test('a body nested 100,000 deep ends in 400', async () => {
    const key = randomUUID()
    const body = `{"customerId":"c","amountCents":1,"currency":"USD","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    expect((await post(sandbox, body, { ...acme, 'idempotency-key': key })).status).toBe(400)
    expect(recordsOf(sandbox.dataDir, key)).toEqual([])
  })
})

test('404 for what does not exist, 405 with Allow for another method', async () => {
  for (const path of ['/', '/payment', '/payments/', '/payments/a/b', '//', '/%zz']) {
    expect(await ask(sandbox, path, { headers: acme })).toMatchObject({ status: 404, json: { code: 'not_found' } })
  }
  expect(await ask(sandbox, '/payments/pay_1', { headers: acme })).toMatchObject({
    status: 404,
    json: { code: 'payment_not_found' },
  })
  const onList = await ask(sandbox, '/payments', { headers: acme })
  expect([onList.status, onList.headers.get('allow')]).toEqual([405, 'POST'])
  const onOne = await ask(sandbox, '/payments/pay_1', { method: 'DELETE', headers: acme })
  expect([onOne.status, onOne.headers.get('allow')]).toEqual([405, 'GET'])
})

test('every problem says type, title, status, detail and code, and is never cached', async () => {
  const { headers, json } = await ask(sandbox, '/nothing')
  expect(headers.get('content-type')).toBe(problemJson)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(json).toEqual({
    type: 'urn:problem-type:hapax:not_found',
    title: expect.any(String),
    status: 404,
    detail: expect.any(String),
    code: 'not_found',
  })
})
