import { type ClientOptions, idempotentFetch, isClientError } from 'hapax/client'
import { beforeAll, expect, test } from 'vitest'
import { acme, tea } from '../sandbox/payment-client.js'
import { ledger } from '../sandbox/providers-process.js'
import { untilRunning } from '../sandbox/test-database.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { lossyProxy } from './support/lossy-proxy.js'

/** Our client and the sandbox, which know nothing of each other but HTTP. */

const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const quick: ClientOptions = { backoff: { first: '10ms', max: '50ms' } }

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ env: { SANDBOX_DELAY_MS: '500' } })
  })

  const paying = (body: unknown) => ({
    method: 'POST',
    headers: { ...acme, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

  test('a key that the client makes is a UUID of version 4, 36 characters with dashes, the same on each attempt [S4-03]', async () => {
    const network = await lossyProxy(sandbox)
    let lost = 0
    network.loses(() => (lost++ === 0 ? 'answer' : 'nothing'))
    const keys: (string | undefined)[] = []
    const send = idempotentFetch({ ...quick, onAttempt: ({ key }) => void keys.push(key) })
    const body = tea()
    const answer = await send(`${network.sandbox.url}/payments`, paying(body))
    expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, 'true'])
    expect(keys).toEqual([expect.stringMatching(v4), keys[0]])
    expect(await sandbox.recordsOf(keys[0] ?? '')).toMatchObject([{ status: 'completed', attempt: 1 }])
    expect(await sandbox.paymentsOf(body)).toHaveLength(1)
  })

  test('a client that meets the lock comes back when it is told to, and gets the first result [S3-65]', async () => {
    const [key, body] = [crypto.randomUUID(), tea()]
    const statuses: (number | undefined)[] = []
    const first = idempotentFetch(quick)(`${sandbox.url}/payments`, paying(body), { key })
    await untilRunning(sandbox, key)
    const send = idempotentFetch({ ...quick, onAttempt: ({ status }) => void statuses.push(status) })
    const second = await send(`${sandbox.url}/payments`, paying(body), { key })
    expect([statuses[0], statuses.at(-1)]).toEqual([409, 201])
    expect(await second.text()).toBe(await (await first).text())
    expect(await sandbox.paymentsOf(body)).toHaveLength(1)
  })

  test('a key that looks like a person does not leave the client [S2-009]', async () => {
    const body = tea()
    for (const key of ['ana@example.com', '+4915123456789', '4242424242424242']) {
      const error = await idempotentFetch(quick)(`${sandbox.url}/payments`, paying(body), { key }).catch(String)
      expect(String(error)).not.toContain(key)
      expect(await sandbox.recordsOf(key)).toEqual([])
    }
    const refused = idempotentFetch(quick)(`${sandbox.url}/payments`, paying(body), { key: 'ana@example.com' })
    expect(isClientError(await refused.catch((error: unknown) => error), 'key_refused')).toBe(true)
    expect(await sandbox.paymentsOf(body)).toEqual([])
  })

  test('two clients that send one POST at the same time end with the same bytes, of one payment [S1-095]', async () => {
    const [key, body] = [crypto.randomUUID(), tea()]
    const statuses: (number | undefined)[] = []
    const send = idempotentFetch({ ...quick, onAttempt: ({ status }) => void statuses.push(status) })
    const both = await Promise.all([1, 2].map(() => send(`${sandbox.url}/payments`, paying(body), { key })))
    const [one, other] = await Promise.all(both.map(async (answer) => `${answer.status} ${await answer.text()}`))
    expect([one, one?.slice(0, 4)]).toEqual([other, '201 '])
    expect(both.map(({ headers }) => headers.get('idempotent-replayed') ?? 'first').sort()).toEqual(['first', 'true'])
    // One of them was told to come back.
    expect(statuses).toContain(409)
    expect(await sandbox.paymentsOf(body)).toHaveLength(1)
  })

  test('where a key looks like a person all the same, it is told to nobody: no log, no answer, no partner [S2-065]', async () => {
    const charging = await start({ providers: 'simulated' })
    const personal = ['ana@example.com', '+4915123456789', '4242424242424242']
    for (const key of personal) {
      const attempt = paying(tea())
      const send = () =>
        fetch(`${charging.url}/payments`, { ...attempt, headers: { ...attempt.headers, 'idempotency-key': key } })
      for (const answer of [await send(), await send()]) {
        expect(answer.status).toBe(201)
        expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain(key)
      }
    }
    const charges = await ledger(charging, '?provider=card')
    expect(charges).toHaveLength(3)
    const told = JSON.stringify([charges, charging.nodes.map(({ printed }) => printed)])
    for (const key of personal) expect(told).not.toContain(key)
    const refused = await Promise.all(
      personal.map((key) => idempotentFetch(quick)(charging.url, paying(tea()), { key }).catch(({ code }) => code)),
    )
    expect(refused).toEqual(personal.map(() => 'key_refused'))
  })
})
