import assert from 'node:assert/strict'
import { isProblem, isReplayOf } from './expect.js'
import type { HttpShow } from './stage.js'

/** Only what the route names is guarded. */
export const methods: Readonly<Record<string, HttpShow>> = {
  ...Object.fromEntries(
    ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'].map((method) => [`a ${method} goes by untouched`, goesBy(method)]),
  ),

  'a PATCH is guarded as a POST is': async ({ serve }) => {
    const { ask, runs } = await serve({})
    const first = await ask({ method: 'PATCH' })
    isReplayOf(await ask({ method: 'PATCH' }), first)
    isProblem(await ask({ method: 'PATCH', key: undefined }), 400, 'idempotency_key_missing')
    assert.equal(runs(), 1)
  },

  'a route may ask for PUT and DELETE to be guarded': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { methods: ['PUT', 'DELETE'] } })
    for (const method of ['PUT', 'DELETE']) {
      const first = await ask({ method, key: method })
      isReplayOf(await ask({ method, key: method }), first)
    }
    assert.equal(runs(), 2)
  },
}

/** With a key, without one, or with a broken one: the handler runs each time and its answer is left alone. */
function goesBy(method: string): HttpShow {
  return async ({ serve }) => {
    const { ask, runs } = await serve({})
    for (const key of ['a-key', 'a-key', undefined, 'two words']) {
      const got = await ask({ method, key })
      assert.equal(got.status, 201)
      assert.equal(got.replayed, false)
      assert.equal(got.headers.get('idempotency-key-expires'), null)
      assert.equal(got.headers.get('cache-control'), null)
    }
    assert.equal(runs(), 4)
  }
}
