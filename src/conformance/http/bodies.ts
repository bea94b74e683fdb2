import assert from 'node:assert/strict'
import { aKey, head, statusOf } from './client.js'
import { isProblem, isReplayOf } from './expect.js'
import type { Said } from './harness.js'
import type { HttpShow } from './stage.js'

/** Whatever a request carries reaches the handler as it came, and tells one request from another. */
export const bodies: Readonly<Record<string, HttpShow>> = {
  'JSON reaches the handler as it came': comesThrough('application/json', '{ "b": 1, "a": [1.0, "é"] }'),
  'a form reaches the handler as it came': comesThrough('application/x-www-form-urlencoded', 'amount=100&to=me%20too'),
  'a multipart form reaches the handler as it came': comesThrough(
    'multipart/form-data; boundary=edge',
    '--edge\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhello\r\n--edge--\r\n',
  ),
  'bytes that are no text reach the handler as they came': comesThrough(
    'application/octet-stream',
    Buffer.from(Array.from({ length: 1_024 }, (_, index) => 255 - (index % 256))),
  ),
  'JSON that is none reaches the handler as it came': comesThrough('application/json', '{"amount":'),

  'a request without a body is a request': async ({ serve }) => {
    const { ask, runs } = await serve({ handler: echo })
    const first = await ask({ body: undefined })
    assert.equal(first.status, 200)
    assert.equal(first.bytes.length, 0)
    isReplayOf(await ask({ body: undefined }), first)
    assert.equal(runs(), 1)
  },

  'a body in chunks equals the same body in one piece': async ({ serve }) => {
    const { ask, runs } = await serve({ handler: echo })
    const headers = { 'content-type': 'application/json' }
    const first = await ask({ headers, body: chunks('{"amount":', '100}') })
    assert.equal(first.text, '{"amount":100}')
    isReplayOf(await ask({ headers, body: '{"amount":100}' }), first)
    assert.equal(runs(), 1)
  },

  'an empty body in chunks equals none': async ({ serve }) => {
    const { ask, wire, runs } = await serve({ handler: echo })
    // By hand: `fetch` sends an empty stream as no body.
    const { write, ended } = await wire()
    write(`${head(`Idempotency-Key: ${aKey}`, 'Transfer-Encoding: chunked')}0\r\n\r\n`)
    const received = await ended
    assert.equal(statusOf(received), 200, received)
    assert.equal((await ask({ body: undefined })).replayed, true)
    assert.equal(runs(), 1)
  },

  'JSON in another spelling is the same request': async ({ serve }) => {
    const { ask, runs } = await serve({})
    const first = await ask({ body: '{"amount":100,"currency":"EUR"}' })
    isReplayOf(await ask({ body: '{ "currency": "EUR", "amount": 1e2 }' }), first)
    assert.equal(runs(), 1)
  },

  'numbers that only differ past the fifteenth digit are different requests': async ({ serve }) => {
    const { ask, runs } = await serve({})
    await ask({ body: '{"amount":12345678901234567890}' })
    const other = await ask({ body: '{"amount":12345678901234567891}' })
    isProblem(other, 422, 'idempotency_key_reused_with_different_payload')
    assert.equal(runs(), 1)
  },

  'the same body under another version of the API is another request, where the route compares versions': async ({
    serve,
  }) => {
    const { ask, runs } = await serve({
      options: { fingerprint: { strategy: { kind: 'whole', headers: ['API-Version'] } } },
    })
    const under = (version: string) => ({ headers: { 'api-version': version } })
    const first = await ask(under('2026-01-01'))
    isReplayOf(await ask(under('2026-01-01')), first)
    isProblem(await ask(under('2026-06-01')), 422, 'idempotency_key_reused_with_different_payload')
    isProblem(await ask(), 422, 'idempotency_key_reused_with_different_payload')
    assert.equal(runs(), 1)
  },

  'a body over the limit is refused before anything runs, and the connection serves on': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { bodyLimit: 1_000 } })
    const headers = { 'content-type': 'application/octet-stream' }
    isProblem(await ask({ headers, body: Buffer.alloc(200_000) }), 413, 'body_too_large')
    isProblem(await ask({ headers, body: chunks('x'.repeat(1_000), 'x') }), 413, 'body_too_large')
    assert.equal(runs(), 0)
    assert.equal((await ask({ headers, body: Buffer.alloc(1_000) })).status, 201)
  },
}

function comesThrough(mediaType: string, body: Uint8Array | string): HttpShow {
  return async ({ serve }) => {
    const { ask, runs } = await serve({ handler: echo })
    const headers = { 'content-type': mediaType }
    const first = await ask({ headers, body })
    assert.equal(first.status, 200, first.text)
    assert.ok(first.bytes.equals(Buffer.from(body)), `the handler got ${first.text}`)
    isReplayOf(await ask({ headers, body }), first)
    const other = Buffer.concat([Buffer.from(body), Buffer.from(' "')])
    isProblem(await ask({ headers, body: other }), 422, 'idempotency_key_reused_with_different_payload')
    assert.equal(runs(), 1)
  }
}

function echo({ body }: { readonly body: Uint8Array }): Said {
  return { status: 200, headers: [['Content-Type', 'application/octet-stream']], body }
}

/** A body of unknown length: the client sends it in chunks. */
function chunks(...texts: readonly string[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(Buffer.from(text))
      controller.close()
    },
  })
}
