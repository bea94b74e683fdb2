import { isUtf8 } from 'node:buffer'
import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { isAdded, type Reply } from '../http/port.js'
import { allHeaders } from './second-reply.js'

type Payload = string | Buffer | Readable | undefined

/** Puts status and headers of an answer into a reply of Fastify, and gives what is to be sent with them. */
export function payloadOf({ status, headers, body }: Reply, reply: FastifyReply, text?: string): Payload {
  putHeaders(reply, headers)
  reply.code(status)
  // The body is serialised by now. Fastify takes null for no serializer.
  reply.serializer(null as never)
  return asFastifyHasIt(body, reply, text)
}

/**
 * The same for an answer that says everything: what was set before and is not in it is not sent. Where its body was made of
 * a text, that is sent as it is.
 */
export function wholePayloadOf(answer: Reply, reply: FastifyReply, text: string | undefined): Payload {
  for (const name in allHeaders(reply)) if (!isIn(name, answer.headers)) reply.removeHeader(name)
  return payloadOf(answer, reply, text)
}

function isIn(name: string, headers: Reply['headers']): boolean {
  return headers.some(([given]) => given.length === name.length && given.toLowerCase() === name)
}

/** As text where it is text, as hooks know it, and otherwise as bytes, so that Fastify adds nothing to its type. */
function asFastifyHasIt(body: Uint8Array, reply: FastifyReply, text: string | undefined): Payload {
  if (body.byteLength === 0) return undefined
  const type = reply.getHeader('content-type')
  if (text !== undefined && type !== undefined && !getsCharset(String(type))) return text
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
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

/** What was set before gives way. Lines of one name come together, and a list that several may add to is joined. */
function putHeaders(reply: FastifyReply, headers: Reply['headers']): void {
  const done: string[] = []
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    if (isAdded(name) || done.includes(name)) addHeader(reply, name, value)
    else if (reply.getHeader(name) !== value) setHeader(reply, name, value)
    done.push(name)
  }
}

function addHeader(reply: FastifyReply, name: string, value: string): void {
  const there = [reply.getHeader(name) ?? []].flat().map(String)
  if (there.length === 0) setHeader(reply, name, value)
  else if (!isAdded(name) || !there.includes(value)) setHeader(reply, name, [...there, value])
}

function setHeader(reply: FastifyReply, name: string, value: string | string[]): void {
  // Of cookies Fastify keeps those from before, too.
  if (name === 'set-cookie') reply.removeHeader(name)
  reply.header(name, value)
}
