import assert from 'node:assert/strict'
import type { Got } from './client.js'
import { isProblem } from './expect.js'
import { gate } from './gate.js'
import { type HttpShow, paid } from './stage.js'

const fromAPage = { headers: { origin: 'https://shop.example' } }

/** A page of another origin can read what it needs in order to retry well. */
export const cors: Readonly<Record<string, HttpShow>> = {
  'a page of another origin may see that an answer is a replay, and how long its key lives': async ({ serve }) => {
    const { ask } = await serve({})
    assert.deepEqual(exposedTo(await ask(fromAPage)), ['idempotency-key-expires'])
    assert.deepEqual(exposedTo(await ask(fromAPage)), ['idempotency-key-expires', 'idempotent-replayed'])
  },

  'a page of another origin may see when to come back': async ({ serve, store }) => {
    const { ask } = await serve({})
    store.fail('reserve')
    const refused = await ask(fromAPage)
    isProblem(refused, 503, 'idempotency_store_unavailable')
    assert.ok(exposedTo(refused).includes('retry-after'))
  },

  'a page of another origin may see where to look for what was accepted': async ({ serve }) => {
    const started = gate()
    const ended = gate()
    const { ask } = await serve({
      options: { concurrency: 'accept', statusAt: '/idempotency/status' },
      async handler() {
        started.open()
        await ended.opened
        return paid()
      },
    })
    const first = ask(fromAPage)
    await started.opened
    const accepted = await ask(fromAPage)
    ended.open()
    await first
    assert.equal(accepted.status, 202)
    assert.equal(accepted.headers.get('location'), '/idempotency/status')
    assert.deepEqual(exposedTo(accepted), ['location', 'retry-after'])
  },

  'what the application itself exposes stays exposed': async ({ serve }) => {
    const { ask } = await serve({
      handler: () => ({ status: 201, headers: [['Access-Control-Expose-Headers', 'X-Request-Id']] }),
    })
    assert.deepEqual(exposedTo(await ask(fromAPage)), ['idempotency-key-expires', 'x-request-id'])
  },

  'who is of no other origin is told nothing about it': async ({ serve }) => {
    const { ask } = await serve({})
    assert.deepEqual(exposedTo(await ask()), [])
  },

  'a preflight is not held up by the guard': async ({ serve }) => {
    const { ask, runs } = await serve({ handler: () => ({ status: 204 }) })
    const { status } = await ask({
      method: 'OPTIONS',
      key: undefined,
      body: undefined,
      headers: { ...fromAPage.headers, 'access-control-request-headers': 'idempotency-key' },
    })
    assert.equal(status, 204)
    assert.equal(runs(), 1)
  },
}

function exposedTo({ headers }: Got): readonly string[] {
  const list = headers.get('access-control-expose-headers') ?? ''
  return list
    .toLowerCase()
    .split(', ')
    .filter((name) => name !== '')
    .sort()
}
