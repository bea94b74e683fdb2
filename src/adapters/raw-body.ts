import type { IncomingMessage } from 'node:http'
import { tooLarge } from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'
import { keptBody } from './kept-body.js'

const rawBodies = new WeakMap<IncomingMessage, Uint8Array>()

/** Keeps the bytes of a body that is parsed before the guard: `express.json({ verify: keepRawBody })`. */
export function keepRawBody(request: IncomingMessage, _response: unknown, bytes: Uint8Array): void {
  rawBodies.set(request, bytes)
}

/** The lines of a header. A parser keeps the bytes without their encoding. */
export function linesOf(request: IncomingMessage, name: string): readonly string[] {
  return name === 'content-encoding' && rawBodies.has(request) ? [] : (request.headersDistinct[name] ?? [])
}

/** The bytes that a parser has kept, or those that nobody has read yet. */
export function rawBody(request: IncomingMessage, limit: number): Promise<Uint8Array> | Uint8Array {
  const raw = rawBodies.get(request)
  if (raw === undefined) return keptBody(request, limit)
  if (raw.byteLength > limit) throw tooLarge(limit)
  return raw
}

/** A body that was parsed and not kept is an error for the developer, and not for the client. */
export function refuseParsedBody(request: IncomingMessage): void {
  if (rawBodies.has(request) || !request.readableDidRead) return
  const message =
    'The body was read before the guard, and its bytes are gone. Write express.json({ verify: keepRawBody }), with keepRawBody from hapax/express; or put the parser behind the guard.'
  throw new HapaxError('policy_invalid', message)
}
