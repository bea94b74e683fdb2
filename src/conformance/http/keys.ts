import assert from 'node:assert/strict'
import { aBody, aKey, head, statusOf } from './client.js'
import { isProblem, isReplayOf } from './expect.js'
import type { HttpShow } from './stage.js'

/** What counts as a key. A request whose key cannot be trusted is refused before anything runs. */
export const keys: Readonly<Record<string, HttpShow>> = {
  'a request without a key is refused where one is required': async ({ serve }) => {
    const { ask, runs } = await serve({})
    isProblem(await ask({ key: undefined }), 400, 'idempotency_key_missing')
    assert.equal(runs(), 0)
  },

  'a request without a key runs where it is optional, each time': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { key: 'optional' } })
    for (const _ of [1, 2]) assert.equal((await ask({ key: undefined })).replayed, false)
    assert.equal(runs(), 2)
    const first = await ask()
    isReplayOf(await ask(), first)
  },

  'a malformed key is refused': async ({ serve }) => {
    const { ask, runs } = await serve({})
    for (const key of malformed) isProblem(await ask({ key }), 400, 'idempotency_key_malformed')
    assert.equal(runs(), 0)
  },

  'a malformed key is refused where keys are optional, too': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { key: 'optional' } })
    for (const key of malformed) isProblem(await ask({ key }), 400, 'idempotency_key_malformed')
    assert.equal(runs(), 0)
  },

  'a key with and without its quotes is one key': async ({ serve }) => {
    const { ask, runs } = await serve({})
    const first = await ask({ key: aKey })
    isReplayOf(await ask({ key: `"${aKey}"` }), first)
    assert.equal(runs(), 1)
  },

  'two lines of keys are refused, whether they agree or not': async ({ serve }) => {
    const { wire, runs } = await serve({})
    for (const other of [aKey, 'another', `"${aKey}"`]) {
      const { write, ended } = await wire()
      const lines = [`Idempotency-Key: ${aKey}`, `Idempotency-Key: ${other}`, 'Content-Type: application/json']
      write(head(...lines, `Content-Length: ${aBody.length}`) + aBody)
      const received = await ended
      assert.equal(statusOf(received), 400, received)
      assert.match(received, /idempotency_key_malformed/)
    }
    assert.equal(runs(), 0)
  },

  'the key of another request is refused before anything runs': async ({ serve }) => {
    const { ask, runs } = await serve({})
    await ask()
    isProblem(await ask({ body: '{"amount":999}' }), 422, 'idempotency_key_reused_with_different_payload')
    isProblem(await ask({ method: 'PATCH' }), 422, 'idempotency_key_reused_with_different_payload')
    isProblem(await ask({ path: '/payments?to=me' }), 422, 'idempotency_key_reused_with_different_payload')
    assert.equal(runs(), 1)
  },

  'parameters in another order are the same request': async ({ serve }) => {
    const { ask, runs } = await serve({})
    const first = await ask({ path: '/payments?a=1&b=2' })
    isReplayOf(await ask({ path: '/payments?b=2&a=1' }), first)
    assert.equal(runs(), 1)
  },
}

const malformed = ['', '""', 'a, b', '"a", "b"', 'two words', '"unclosed', 'x'.repeat(256), 'clé']
