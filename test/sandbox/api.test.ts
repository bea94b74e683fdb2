import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { acme, ask, coffee, exchange, pay, post, rawPayment } from './payment-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { onEachDatabase, type TestDatabase } from './test-database.js'

const problemJson = 'application/problem+json'

onEachDatabase((fresh) => {
  let database: TestDatabase
  let sandbox: SandboxProcess
  beforeAll(async () => {
    database = await fresh()
    sandbox = await database.start()
  })

  test('the largest amount comes back as the number it was', async () => {
    const amountCents = 99_999_999_999
    const { json } = await pay(sandbox, { body: { ...coffee, amountCents } })
    expect((await ask(sandbox, `/payments/${json.id}`, { headers: acme })).json.amountCents).toBe(amountCents)
  })

  describe('a request that is refused reserves nothing', () => {
    test('401 without a token or with an unknown one, and it says which scheme', async () => {
      const key = randomUUID()
      for (const authorization of [undefined, 'Bearer', 'Bearer ohk_test_nobody', 'Basic b2hrX3Rlc3RfYWNtZTo=']) {
        const headers = { 'idempotency-key': key, ...(authorization !== undefined && { authorization }) }
        const refused = await post(sandbox, JSON.stringify(coffee), headers)
        expect(refused).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
        expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer realm=/)
      }
      expect((await ask(sandbox, '/payments/pay_1')).status).toBe(401)
      expect(await database.recordsOf(key)).toEqual([])
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
      expect(await database.recordsOf(key)).toEqual([])
      expect((await pay(sandbox, { key })).status).toBe(201)
    })
  })

  test('who asks and what for is looked at before a replay too, and the answer is shown to nobody else', async () => {
    const key = randomUUID()
    const created = await pay(sandbox, { key })
    expect(created.status).toBe(201)
    const revoked = await pay(sandbox, { key, tenant: { authorization: 'Bearer ohk_test_revoked' } })
    expect(revoked).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
    const invalid = await pay(sandbox, { key, body: { ...coffee, amountCents: 0 } })
    expect(invalid).toMatchObject({ status: 400, json: { code: 'request_invalid' } })
    for (const { text } of [revoked, invalid]) expect(text).not.toContain(String(created.json.id))
    const again = await pay(sandbox, { key })
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([created.text, 'true'])
  })

  test('404 for what does not exist, 405 with Allow for another method', async () => {
    for (const path of [
      '/payment',
      '/payments/',
      '/payments/a/b',
      '/payments/%00',
      `/payments/${'x'.repeat(101)}`,
      '//',
      '/%zz',
    ]) {
      expect(await ask(sandbox, path, { headers: acme })).toMatchObject({ status: 404, json: { code: 'not_found' } })
    }
    expect(await ask(sandbox, '/payments/pay_1', { headers: acme })).toMatchObject({
      status: 404,
      json: { code: 'payment_not_found' },
    })
    const nowhere = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }
    expect(await ask(sandbox, '/nowhere', nowhere)).toMatchObject({ status: 404, json: { code: 'not_found' } })
    const onList = await ask(sandbox, '/payments', { method: 'DELETE', headers: acme })
    expect([onList.status, onList.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD'])
    const onOne = await ask(sandbox, '/payments/pay_1', { method: 'DELETE', headers: acme })
    expect([onOne.status, onOne.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('HEAD is what GET is, without its body', async () => {
    for (const path of ['/', '/payments', '/users', '/openapi.json', '/orders?limit=1', '/payments/pay_1']) {
      const [get, head] = await Promise.all(
        ['GET', 'HEAD'].map((method) => fetch(sandbox.url + path, { method, headers: acme })),
      )
      const seen = (answer: Response | undefined) => [answer?.status, answer?.headers.get('content-type')]
      expect([path, ...seen(head)]).toEqual([path, ...seen(get)])
      expect(await head?.text()).toBe('')
    }
    expect((await fetch(`${sandbox.url}/payments`, { method: 'HEAD' })).status).toBe(401)
  })

  test('431 for a header of more than 16 kB, as a problem like any other', async () => {
    const answer = await exchange(sandbox, rawPayment(coffee, [`X-Filler: ${'x'.repeat(17_000)}`]))
    expect(answer).toMatch(/^HTTP\/1.1 431 /)
    expect(answer).toMatch(/^content-type: application\/problem\+json\r$/im)
    expect(answer).toContain('"code":"headers_too_large"')
  })

  test('every problem says type, title, status, detail, code and whether to retry, and is never cached', async () => {
    const { headers, json } = await ask(sandbox, '/nothing')
    expect(headers.get('content-type')).toBe(problemJson)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(json).toEqual({
      type: 'urn:problem-type:sandbox:not_found',
      title: expect.any(String),
      status: 404,
      detail: expect.any(String),
      code: 'not_found',
      retryable: false,
    })
  })
})
