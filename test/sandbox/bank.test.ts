import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { asked, initech, withdraw } from './bank-client.js'
import { acme, ask, globex } from './payment-client.js'
import { ledger } from './providers-process.js'
import { eventually, fault, isReplay } from './sandbox-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

describe('a withdrawal', () => {
  let sandbox: SandboxProcess
  beforeAll(async () => {
    sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  })
  const show = (id: unknown, client = initech) => ask(sandbox, `/sb/v1/withdrawals/${id}`, { headers: client })
  const paidFor = async (id: unknown) =>
    (await ledger(sandbox, '?provider=bank')).filter(({ reference }) => reference === id)
  const untilStatus = (id: unknown, status: string) =>
    eventually(async () => expect((await show(id)).json.status).toBe(status))

  test('is made by the published curl, to the letter but for the host, and by its repeat shown as it stands', async () => {
    const curl = async () => {
      const { stdout } = await promisify(execFile)('curl', [
        ...['-s', '-i', '--max-time', '20'],
        `${sandbox.url}/sb/v1/withdraw`,
        ...['-u', 'sk_test_BQokikJOvBiI2HlWgH4olfQ2:'],
        ...['-H', 'Idempotency-Key: A8Z5MHwQS7jUmZ'],
        ...['-d', 'amount=2000'],
        ...['-d', 'currency=usd'],
        ...['-d', 'description=test'],
        ...['-d', 'customer=cus_AGJ6FJMkGQIpHUTX'],
      ])
      const [head = '', body = ''] = stdout.split('\r\n\r\n')
      return { head, json: JSON.parse(body) }
    }
    const first = await curl()
    expect(first.head).toMatch(/^HTTP\/1.1 201 /)
    expect(first.json).toMatchObject({ ...asked, amount: 2000, status: 'pending' })
    await untilStatus(first.json.id, 'completed')
    const again = await curl()
    expect(again.head).toMatch(/^HTTP\/1.1 201 /)
    expect(again.head).toMatch(/^idempotent-replayed: true$/im)
    expect(again.json).toEqual({ ...first.json, status: 'completed' })
    expect(await paidFor(first.json.id)).toMatchObject([{ operation: 'withdraw', amount: 2000, currency: 'usd' }])
  })

  test('is refused under its key with another body, and what was made is not changed', async () => {
    const { json } = await withdraw(sandbox, { key: 'changed' })
    const other = await withdraw(sandbox, { key: 'changed', form: { ...asked, amount: '9000' } })
    expect(other).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused_with_different_payload' } })
    expect((await show(json.id)).json).toMatchObject({ amount: 2000 })
  })

  test('takes a key of forty characters and none of forty-one, and none at all is refused', async () => {
    expect((await withdraw(sandbox, { key: 'k'.repeat(40) })).status).toBe(201)
    expect((await withdraw(sandbox, { key: 'k'.repeat(41) })).status).toBe(400)
    expect((await withdraw(sandbox, {})).status).toBe(400)
  })

  test('belongs to its client: another one has keys and withdrawals of its own', async () => {
    const mine = await withdraw(sandbox, { key: 'shared' })
    const theirs = await withdraw(sandbox, { key: 'shared', client: acme })
    expect([theirs.status, isReplay(theirs)]).toEqual([201, false])
    expect(theirs.json.id).not.toBe(mine.json.id)
    expect((await show(mine.json.id, acme)).status).toBe(404)
    expect((await show(theirs.json.id, acme)).status).toBe(200)
    expect((await show(theirs.json.id, globex)).status).toBe(404)
    const basic = { authorization: `Basic ${btoa('ohk_test_acme:')}` }
    expect((await show(theirs.json.id, basic)).status).toBe(200)
  })

  test('has a key whose state its client may ask for, and nobody else', async () => {
    await withdraw(sandbox, { key: 'asked-for' })
    const asked = (client: Record<string, string>) =>
      ask(sandbox, '/idempotency/status', { headers: { ...client, 'idempotency-key': 'asked-for' } })
    expect(await asked(initech)).toMatchObject({ status: 200, json: { state: 'completed' } })
    expect((await asked(acme)).status).toBe(404)
  })

  test('is made by nobody who is not known', async () => {
    for (const authorization of [
      '',
      'Basic',
      'Basic !!',
      `Basic ${btoa('sk_test_x:')}`,
      `Basic ${btoa('ohk_test_acme:x')}`,
    ]) {
      const refused = await withdraw(sandbox, { key: 'nobody', client: { authorization } })
      expect(refused).toMatchObject({ status: 401, json: { code: 'unauthenticated' } })
      expect(refused.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
    }
    // What the bank's client is given opens nothing else.
    expect((await ask(sandbox, '/payments', { headers: initech })).status).toBe(401)
  })

  for (const mode of ['timeout_before', 'timeout_after_effect', 'error_500_after_effect', 'reset', 'slow'])
    test(`whose bank meets ${mode} is paid out once`, async () => {
      await fault(sandbox, { provider: 'bank', operation: 'withdraw', mode, ...(mode === 'slow' && { ms: 300 }) })
      const first = await withdraw(sandbox, { key: mode })
      expect(first).toMatchObject({ status: 201, json: { status: 'pending' } })
      await untilStatus(first.json.id, 'completed')
      expect(await paidFor(first.json.id)).toHaveLength(1)
      expect((await withdraw(sandbox, { key: mode })).json.status).toBe('completed')
    })

  test('that the bank declines is declined, and the repeat says so with 201', async () => {
    await fault(sandbox, { provider: 'bank', operation: 'withdraw', mode: 'decline' })
    const { json } = await withdraw(sandbox, { key: 'declined' })
    await untilStatus(json.id, 'declined')
    expect(await withdraw(sandbox, { key: 'declined' })).toMatchObject({ status: 201, json: { status: 'declined' } })
    expect(await paidFor(json.id)).toEqual([])
  })

  test('is not polled by its key: after twenty repeats within a minute it is 429, and the GET goes on', async () => {
    const { json } = await withdraw(sandbox, { key: 'polled' })
    for (let time = 0; time < 20; time++) expect((await withdraw(sandbox, { key: 'polled' })).status).toBe(201)
    const refused = await withdraw(sandbox, { key: 'polled' })
    expect(refused).toMatchObject({ status: 429, json: { code: 'rate_exceeded' } })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await show(json.id)).status).toBe(200)
    expect((await withdraw(sandbox, { key: 'not-polled' })).status).toBe(201)
  })

  test('may come as JSON, too, whose members may come in any order', async () => {
    const headers = { ...initech, 'content-type': 'application/json', 'idempotency-key': 'json' }
    const send = (fields: object) =>
      ask(sandbox, '/sb/v1/withdraw', { method: 'POST', headers, body: JSON.stringify(fields) })
    const first = await send({ ...asked, amount: 2000 })
    expect([first.status, isReplay(first)]).toEqual([201, false])
    const { amount: _, ...others } = asked
    const turned = await send({ ...others, amount: 2000 })
    expect([turned.json.id, isReplay(turned)]).toEqual([first.json.id, true])
    expect((await send({ ...asked, amount: 2001 })).status).toBe(422)
  })

  test('of the largest amount is made, and its OpenAPI says which that is', async () => {
    const largest = { ...asked, amount: '99999999999' }
    expect(await withdraw(sandbox, { key: 'largest', form: largest })).toMatchObject({
      status: 201,
      json: { amount: 99_999_999_999 },
    })
    const { text } = await ask(sandbox, '/openapi.json')
    expect(text).toContain('"maximum":99999999999')
    expect(text).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })

  test.each([
    ['no amount', { currency: 'usd', customer: 'c' }],
    ['no whole amount', { ...asked, amount: '20.5' }],
    ['a negative amount', { ...asked, amount: '-1' }],
    ['an amount that is too large', { ...asked, amount: '100000000000' }],
    ['an overlong amount', { ...asked, amount: '9'.repeat(30) }],
    ['an unknown currency', { ...asked, currency: 'zzz' }],
    ['a currency in mixed letters', { ...asked, currency: 'Usd' }],
    ['no customer', { ...asked, customer: '' }],
    ['an overlong description', { ...asked, description: 'x'.repeat(256) }],
    ['nothing', ''],
  ])('with %s is refused, and its key is free afterwards', async (_what, form) => {
    const key = crypto.randomUUID()
    expect(await withdraw(sandbox, { key, form })).toMatchObject({ status: 400, json: { code: 'request_invalid' } })
    const { status, headers } = await withdraw(sandbox, { key })
    expect([status, headers.get('idempotent-replayed')]).toEqual([201, null])
  })

  test.each(['amount=1&amount=2', 'amount', 'amount=%ff', 'amount=%'])('a form like %s is refused', async (form) => {
    expect(await withdraw(sandbox, { key: 'k', form })).toMatchObject({
      status: 400,
      json: { code: 'body_not_a_form' },
    })
  })

  test('forms are read by the bank alone', async () => {
    const headers = { ...acme, 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': 'k' }
    expect((await ask(sandbox, '/payments', { method: 'POST', headers, body: 'a=b' })).status).toBe(415)
  })
})
