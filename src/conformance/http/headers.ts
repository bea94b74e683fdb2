import assert from 'node:assert/strict'
import { isHapaxError } from '../../kernel/errors.js'
import { isReplayOf } from './expect.js'
import type { HttpShow } from './stage.js'

/** Which headers a retry gets, and which are nobody's but the first caller's. */
export const headers: Readonly<Record<string, HttpShow>> = {
  'headers that describe the answer replay': async ({ serve }) => {
    const { ask } = await serve({ handler: () => ({ status: 201, headers: describing, body }) })
    const first = await ask()
    const second = await ask()
    isReplayOf(second, first)
    for (const [name, value] of describing) {
      assert.equal(first.headers.get(name), value, `the first caller gets ${name}`)
      assert.equal(second.headers.get(name), value, `the retry gets ${name}`)
    }
  },

  'a header that the route names replays, and one that it does not name is left out': async ({ serve }) => {
    const said = [
      ['X-Receipt', '42'],
      ['X-Trace', 'abc'],
    ] as const
    const { ask } = await serve({
      options: { keepHeaders: ['X-Receipt'] },
      handler: () => ({ status: 201, headers: said, body }),
    })
    const first = await ask()
    assert.equal(first.headers.get('x-trace'), 'abc')
    const second = await ask()
    isReplayOf(second, first)
    assert.equal(second.headers.get('x-receipt'), '42')
    assert.equal(second.headers.get('x-trace'), null)
  },

  'a header with two lines replays with both': async ({ serve }) => {
    const said = [
      ['Link', '</a>; rel="next"'],
      ['Link', '</b>; rel="prev"'],
    ] as const
    const { ask } = await serve({ handler: () => ({ status: 200, headers: said, body }) })
    const first = await ask()
    assert.equal(first.headers.get('link'), '</a>; rel="next", </b>; rel="prev"')
    assert.equal((await ask()).headers.get('link'), first.headers.get('link'))
  },

  'cookies reach the first caller, each of them, and no retry': async ({ serve }) => {
    const said = [
      ['Set-Cookie', 'session=1'],
      ['Set-Cookie', 'theme=dark'],
    ] as const
    const { ask } = await serve({ handler: () => ({ status: 200, headers: said, body }) })
    assert.deepEqual((await ask()).headers.getSetCookie(), ['session=1', 'theme=dark'])
    assert.deepEqual((await ask()).headers.getSetCookie(), [])
  },

  'credentials, and what belongs to one connection or moment, never replay': async ({ serve }) => {
    const { ask } = await serve({ handler: () => ({ status: 200, headers: personal, body }) })
    const first = await ask()
    const second = await ask()
    isReplayOf(second, first)
    for (const [name] of personal) {
      assert.notEqual(first.headers.get(name), null, `the first caller gets ${name}`)
      assert.notEqual(second.headers.get(name), first.headers.get(name), `the retry does not get ${name}`)
    }
  },

  'a route that names a header which never replays is refused at start': async ({ serve }) => {
    for (const name of ['Set-Cookie', 'WWW-Authenticate', 'Connection', 'Transfer-Encoding']) {
      const options = { keepHeaders: [name] }
      await assert.rejects(serve({ options }), (error) => isHapaxError(error, 'policy_invalid'), name)
    }
  },

  'a guarded answer says until when its key is remembered, and a replay says the same': async ({ serve }) => {
    const { ask } = await serve({})
    const expires = (await ask()).headers.get('idempotency-key-expires') ?? ''
    assert.ok(Date.parse(expires) > Date.parse('2000-01-01'), `"${expires}" is a date`)
    assert.equal((await ask()).headers.get('idempotency-key-expires'), expires)
  },

  'no cache may keep a replay': async ({ serve }) => {
    const said = [['Cache-Control', 'public, max-age=60']] as const
    const { ask } = await serve({ handler: () => ({ status: 200, headers: said, body }) })
    assert.equal((await ask()).headers.get('cache-control'), 'public, max-age=60')
    assert.equal((await ask()).headers.get('cache-control'), 'no-store')
  },

  'no cache may keep a replay, whatever headers the route names': async ({ serve }) => {
    const said = [['Cache-Control', 'public, max-age=60']] as const
    const options = { keepHeaders: ['Cache-Control'] }
    const { ask } = await serve({ options, handler: () => ({ status: 200, headers: said, body }) })
    await ask()
    assert.equal((await ask()).headers.get('cache-control'), 'no-store')
  },
}

const body = Buffer.from('done')

const describing = [
  ['Content-Type', 'text/plain; charset=utf-8'],
  ['Location', '/payments/pay_1'],
  ['Content-Location', '/payments/pay_1/receipt'],
  ['ETag', '"v1"'],
  ['Last-Modified', 'Tue, 01 Feb 2022 00:00:00 GMT'],
  ['Link', '</terms>; rel="terms"'],
] as const

const personal = [
  ['WWW-Authenticate', 'Bearer'],
  ['Proxy-Authenticate', 'Basic'],
  ['Authentication-Info', 'nextnonce="1"'],
  ['Keep-Alive', 'timeout=77'],
  ['Date', 'Tue, 01 Feb 2022 00:00:00 GMT'],
] as const
