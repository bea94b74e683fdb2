import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { isAdded, type Reply } from '../http/port.js'

type Payload = string | Buffer | Readable | undefined

/** Puts status and headers of an answer into a reply of Fastify, and gives what is to be sent with them. */
export function payloadOf(answer: Reply, reply: FastifyReply): Payload {
  return payload(answer, grouped(answer.headers), reply)
}

/** The same for an answer that says everything: what was set before and is not in it is not sent. */
export function wholePayloadOf(answer: Reply, reply: FastifyReply): Payload {
  const lines = grouped(answer.headers)
  for (const name in reply.getHeaders()) if (!lines.has(name)) reply.removeHeader(name)
  return payload(answer, lines, reply)
}

function payload({ status, body }: Reply, lines: ReadonlyMap<string, string[]>, reply: FastifyReply): Payload {
  for (const [name, values] of lines) setHeader(reply, name, values)
  reply.code(status)
  // The body is serialised by now. Fastify takes null for no serializer.
  reply.serializer(null as never)
  return asFastifyHasIt(body, reply)
}

/** As text where it is text, as hooks know it, and otherwise as bytes, so that Fastify adds nothing to its type. */
function asFastifyHasIt(body: Uint8Array, reply: FastifyReply): Payload {
  if (body.byteLength === 0) return undefined
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const type = reply.getHeader('content-type')
  // Only of a stream Fastify does not guess the type.
  if (type === undefined) {
    reply.header('content-length', bytes.byteLength)
    return Readable.from([bytes], { objectMode: false })
  }
  return getsCharset(String(type)) || !isUtf8(bytes) ? bytes : bytes.toString()
}

function getsCharset(type: string): boolean {
  return type.includes('json') && !type.includes('charset=')
}

function grouped(headers: Reply['headers']): Map<string, string[]> {
  const lines = new Map<string, string[]>()
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    const others = lines.get(name)
    if (others === undefined) lines.set(name, [value])
    else others.push(value)
  }
  return lines
}

/** Takes the place of what was set before. A list that several may add to is joined to it. */
function setHeader(reply: FastifyReply, name: string, values: readonly string[]): void {
  const value = values.length === 1 ? values[0] : values
  const before = reply.getHeader(name)
  if (before === value) return
  if (isAdded(name) && before !== undefined) {
    const there = [before].flat().map(String)
    reply.header(name, [...new Set([...there, ...values])])
    return
  }
  // Of cookies Fastify keeps those from before, too.
  if (before !== undefined) reply.removeHeader(name)
  reply.header(name, value)
}
