import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { tooLarge } from '../http/port.js'
import type { Awaitable } from '../kernel/awaitable.js'
import { keptBody } from './kept-body.js'

/** A request as node gives it. One that is injected, as in tests, does not say whether it is complete. */
type Incoming = Readable & { readonly complete?: boolean }

/**
 * Keeps the bytes of a body while a parser reads it, and gives them afterwards. It looks at what comes in and not at
 * what is read: to read the stream before the parser and put it back would cost more than all the rest of an adapter.
 */
export function watchedBody(stream: Incoming, limit: number): () => Awaitable<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  let isWhole = stream.complete === true
  const keep = (chunk: Uint8Array) => {
    length += chunk.byteLength
    if (length <= limit) chunks.push(chunk)
    else chunks.length = 0
  }
  // A hook that took its time before us has let something come in.
  const early: Buffer | null = stream.readableLength > 0 ? stream.read() : null
  if (early !== null) {
    keep(early)
    stream.unshift(early)
  }
  const { push } = stream
  stream.push = (chunk: Uint8Array | string | null, encoding) => {
    if (chunk === null) isWhole = true
    else keep(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk)
    return push.call(stream, chunk, encoding)
  }
  const whole = () => {
    if (length > limit) throw tooLarge(limit)
    return chunks[1] === undefined ? (chunks[0] ?? new Uint8Array()) : Buffer.concat(chunks)
  }
  return () => {
    if (isWhole) return whole()
    // A parser that gives the stream itself to the handler has not read it, or not to its end.
    const isUnread = stream.readableFlowing === null
    const read = isUnread ? keptBody(stream, limit) : finished(stream, { writable: false })
    return read.then(whole)
  }
}
