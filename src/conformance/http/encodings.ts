import assert from 'node:assert/strict'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { aBody } from './client.js'
import { isProblem, isReplayOf } from './expect.js'
import type { HttpShow } from './stage.js'

/** Compression is a wrapping: it makes no other request, and must not become a weapon. */
export const encodings: Readonly<Record<string, HttpShow>> = {
  'a compressed request equals its plain form, however it is compressed': async ({ serve }) => {
    const { ask, runs } = await serve({})
    const first = await ask(wrapped('gzip', gzipSync(aBody)))
    assert.equal(first.status, 201, first.text)
    isReplayOf(await ask(), first)
    isReplayOf(await ask(wrapped('gzip', gzipSync(aBody, { level: 1 }))), first)
    isReplayOf(await ask(wrapped('deflate', deflateSync(aBody))), first)
    isReplayOf(await ask(wrapped('br', brotliCompressSync(aBody))), first)
    isReplayOf(await ask(wrapped('deflate, gzip', gzipSync(deflateSync(aBody)))), first)
    assert.equal(runs(), 1)
  },

  'a few bytes that unfold past the limit are refused before anything runs': async ({ serve }) => {
    const { ask, runs } = await serve({ options: { bodyLimit: 10_000 } })
    const bomb = gzipSync(Buffer.alloc(5_000_000))
    assert.ok(bomb.length < 10_000, 'the bomb itself is within the limit')
    isProblem(await ask(wrapped('gzip', bomb)), 413, 'body_too_large')
    isProblem(await ask(wrapped('gzip, gzip', gzipSync(bomb))), 413, 'body_too_large')
    assert.equal(runs(), 0)
  },

  'a body that is not what its encoding says is refused': async ({ serve }) => {
    const { ask, runs } = await serve({})
    isProblem(await ask(wrapped('gzip', Buffer.from(aBody))), 400, 'body_encoding_invalid')
    isProblem(await ask(wrapped('gzip', gzipSync(aBody).subarray(0, -9))), 400, 'body_encoding_invalid')
    isProblem(await ask(wrapped('rot13', Buffer.from(aBody))), 415, 'body_encoding_unsupported')
    assert.equal(runs(), 0)
  },

  'an answer that the application compressed itself can be read by the retry too': async ({ serve }) => {
    const { ask } = await serve({
      handler: () => ({ status: 200, headers: [['Content-Encoding', 'gzip']], body: gzipSync('unfolded') }),
    })
    const first = await ask()
    assert.equal(first.text, 'unfolded')
    isReplayOf(await ask(), first)
  },
}

function wrapped(encoding: string, body: Uint8Array) {
  return { headers: { 'content-type': 'application/json', 'content-encoding': encoding }, body }
}
