import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { asked, initech } from '../sandbox/bank-client.js'
import type { OpenApi } from '../sandbox/documented.js'
import { disputedOrder, order, orderAfter, topup, withdrawal } from '../sandbox/marketplace-client.js'
import { type Answer, acme, ask, coffee, exchange, pay, tea } from '../sandbox/payment-client.js'
import { tell } from '../sandbox/providers-process.js'
import { get, isReplay, postJson, trip } from '../sandbox/sandbox-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** Which requests of the sandbox need a key, and which are left alone. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated' })
  })

  const records = async () => (await sandbox.sql('SELECT idempotency_key FROM {hapax}records')).length

  /** The status line of an answer to bytes, which a client of HTTP would not let us send. */
  async function statusOf(method: string, path: string, key?: string): Promise<string | undefined> {
    const lines = [`${method} ${path} HTTP/1.1`, 'Host: sandbox', `Authorization: ${acme.authorization}`]
    if (key !== undefined) lines.push(`Idempotency-Key: ${key}`)
    const answer = await exchange(sandbox, `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`)
    return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]
  }

  test('what is idempotent by itself needs no key, and a key that comes with it is not acted on [S0-02 S3-62 S3-74]', async () => {
    const { id } = (await pay(sandbox, { body: tea() })).json
    const before = await records()
    const key = randomUUID()
    for (const path of ['/payments', `/payments/${id}`, '/orders', '/_providers/faults'])
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']) {
        const without = await statusOf(method, path)
        for (const sent of [key, key, 'two words', 'k'.repeat(300)])
          expect([method, path, await statusOf(method, path, sent)]).toEqual([method, path, without])
        expect([method, path, without]).not.toEqual([method, path, '400'])
      }
    const settings = { provider: 'card', honoursKeys: true }
    for (const sent of [{}, { key }, { key }])
      expect((await tell(sandbox, 'PUT', '/_providers/settings', { body: settings, ...sent })).status).toBe(200)
    expect([await records(), await sandbox.recordsOf(key)]).toEqual([before, []])
  })

  test('to delete twice leaves what deleting once leaves, without any key [S0-03]', async () => {
    const faults = async () => (await tell(sandbox, 'GET', '/_providers/faults')).json.faults
    const body = { provider: 'notifier', operation: 'send', mode: 'decline' }
    await tell(sandbox, 'POST', '/_providers/faults', { body })
    expect(await faults()).toHaveLength(1)
    for (let time = 0; time < 2; time++) {
      expect((await tell(sandbox, 'DELETE', '/_providers/faults')).status).toBe(200)
      expect(await faults()).toEqual([])
    }
  })

  test('a POST is made idempotent by its key; where no key is looked at, each is another [S0-04]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    const [first, again] = [await pay(sandbox, attempt), await pay(sandbox, attempt)]
    expect([first.status, again.status, isReplay(again), again.text]).toEqual([201, 201, true, first.text])
    expect(await sandbox.paymentsOf(attempt.body)).toHaveLength(1)
    const body = { provider: 'notifier', operation: 'send', mode: 'decline' }
    const faults = [1, 2].map(() => tell(sandbox, 'POST', '/_providers/faults', { body, key: attempt.key }))
    expect((await Promise.all(faults)).map(({ status, isReplay }) => [status, isReplay])).toEqual([
      [201, false],
      [201, false],
    ])
    expect((await tell(sandbox, 'DELETE', '/_providers/faults')).json.cleared).toBe(2)
  })

  test('each operation says for itself whether a key is demanded: an order demands one, its reading and refreshing do not [S0-28]', async () => {
    const body = JSON.stringify(order)
    const headers = { ...acme, 'content-type': 'application/json' }
    expect((await ask(sandbox, '/orders', { method: 'POST', headers, body })).status).toBe(400)
    expect((await postJson(sandbox, '/orders', order)).status).toBe(201)
    expect((await get(sandbox, '/orders')).status).toBe(200)
    const { id } = (await postJson(sandbox, '/topups', topup)).json
    expect((await ask(sandbox, `/topups/${id}/refresh`, { method: 'POST', headers: acme })).status).toBe(200)
  })

  test('each POST to a resource or below one is safe under its key [S0-33]', async () => {
    const id = await orderAfter(sandbox, 'none')
    const key = randomUUID()
    for (const path of [`/orders/${id}/reserve`, `/orders/${id}/escrow`, `/orders/${id}/escrow/fund`]) {
      const [first, again] = [
        await postJson(sandbox, path, {}, { key: `${key}${path}` }),
        await postJson(sandbox, path, {}, { key: `${key}${path}` }),
      ]
      expect([path, first.status < 300, isReplay(again), again.text]).toEqual([path, true, true, first.text])
    }
  })

  test('every guarded operation that is documented is refused without a key, and nothing happens [S1-069]', async () => {
    const { paths } = (await get(sandbox, '/openapi.json')).json as unknown as OpenApi
    const guarded = Object.keys(paths).filter((path) => paths[path]?.post?.['x-idempotency'] !== undefined)
    const { orderId, disputeId } = await disputedOrder(sandbox)
    const out = (await postJson(sandbox, '/withdrawals', withdrawal)).json.id
    const bodies: Readonly<Record<string, unknown>> = {
      '/payments': coffee,
      '/rides': trip,
      '/notifications': { to: 'ada@example.com', text: 'hello' },
      '/sb/v1/withdraw': { ...asked, amount: 2000 },
      '/topups': topup,
      '/orders': order,
      '/withdrawals': withdrawal,
      '/disputes/{id}/resolve': { decision: 'refund' },
    }
    const idFor = (path: string) => (path.startsWith('/orders') ? orderId : path.startsWith('/d') ? disputeId : out)
    const before = [await records(), (await get(sandbox, `/orders/${orderId}`)).text]
    for (const path of guarded) {
      const headers = { ...(path.startsWith('/sb') ? initech : acme), 'content-type': 'application/json' }
      const where = path.replace('{id}', String(idFor(path)))
      const body = JSON.stringify(bodies[path] ?? {})
      const refused = await ask(sandbox, where, { method: 'POST', headers, body })
      expect([path, refused.status, saysMissing(refused)]).toEqual([path, 400, true])
    }
    expect(guarded).toHaveLength(15)
    expect([await records(), (await get(sandbox, `/orders/${orderId}`)).text]).toEqual(before)
  })
})

function saysMissing({ text }: Answer): boolean {
  return /idempotency_key_missing/i.test(text)
}
