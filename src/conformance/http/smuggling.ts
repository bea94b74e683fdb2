import assert from 'node:assert/strict'
import { aBody, aKey, head, statusOf } from './client.js'
import type { HttpShow } from './stage.js'

/** Requests that a proxy in front could read otherwise than we do are refused before anything runs. */
export const smuggling: Readonly<Record<string, HttpShow>> = {
  'a request with two kinds of length is refused': refused(
    head(`Idempotency-Key: ${aKey}`, `Content-Length: ${aBody.length}`, 'Transfer-Encoding: chunked') +
      `${aBody.length.toString(16)}\r\n${aBody}\r\n0\r\n\r\n`,
  ),
  'a request with two lengths is refused': refused(
    head(`Idempotency-Key: ${aKey}`, `Content-Length: ${aBody.length}`, 'Content-Length: 1') + aBody,
  ),
  'a request whose last transfer encoding is not chunked is refused': refused(
    head(`Idempotency-Key: ${aKey}`, 'Transfer-Encoding: chunked, identity') + aBody,
  ),
  'a key that is folded over two lines is refused': refused(
    head('Idempotency-Key: first', ' second', `Content-Length: ${aBody.length}`) + aBody,
  ),
  'a key header with a space before its colon is refused': refused(
    head(`Idempotency-Key : ${aKey}`, `Content-Length: ${aBody.length}`) + aBody,
  ),
  'a key with a null byte is refused': refused(
    head('Idempotency-Key: a\0b', `Content-Length: ${aBody.length}`) + aBody,
  ),
}

function refused(request: string): HttpShow {
  return async ({ serve }) => {
    const { wire, runs } = await serve({})
    const { write, ended } = await wire()
    write(request)
    const received = await ended
    assert.equal(statusOf(received), 400, received)
    assert.equal(runs(), 0)
  }
}
