import { type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { type Reply, refuseEventStream } from '../http/port.js'
import { accessor, method, type OwnProperties } from './swapped-properties.js'

/** The status and the headers of a response that is held: a copy, so that the response keeps what it had. */
export interface HeldHead {
  readonly properties: OwnProperties
  isBegun(): boolean
  /** Fixes the head, as its first byte would. */
  begin(): Pick<Reply, 'status' | 'headers'>
}

export function heldHead(response: ServerResponse): HeldHead {
  const copy = copied(response)
  let begun: Pick<Reply, 'status' | 'headers'> | undefined
  const begin = () => {
    if (begun === undefined) {
      const headers = linesOf(copy)
      refuseEventStream(headers)
      // From here on the copy refuses what node refuses once a head is out.
      copy.writeHead(copy.statusCode)
      begun = { status: copy.statusCode, headers }
    }
    return begun
  }
  const asCopy = (name: string) => {
    const inner: unknown = Reflect.get(copy, name)
    return typeof inner === 'function' ? method((...given) => asResponse(Reflect.apply(inner, copy, given))) : undefined
  }
  const asResponse = (value: unknown) => (value === copy ? response : value)
  const writeHead = method((status, ...rest) => {
    if (begun === undefined) {
      copy.statusCode = Number(status)
      for (const [name, value] of headerArguments(rest.at(-1))) copy.setHeader(name, value)
      begin()
    }
    return response
  })
  return {
    properties: {
      ...Object.fromEntries(methods.map((name) => [name, asCopy(name)])),
      statusCode: accessor(
        () => copy.statusCode,
        (status) => void Reflect.set(copy, 'statusCode', status),
      ),
      statusMessage: accessor(
        () => copy.statusMessage,
        (text) => void Reflect.set(copy, 'statusMessage', text),
      ),
      headersSent: accessor(() => begun !== undefined),
      writeHead,
      flushHeaders: method(() => void begin()),
    },
    isBegun: () => begun !== undefined,
    begin,
  }
}

/** What node has around headers. A trailer belongs to how bytes were to be sent, and is sent with none of ours. */
const methods = [
  'setHeader',
  'setHeaders',
  'appendHeader',
  'getHeader',
  'getHeaders',
  'getHeaderNames',
  'getRawHeaderNames',
  'hasHeader',
  'removeHeader',
  'addTrailers',
]

/** A response that is connected to nothing. */
function copied(response: ServerResponse): ServerResponse {
  const copy = new ServerResponse(response.req)
  copy.statusCode = response.statusCode
  copy.statusMessage = response.statusMessage
  for (const [name, value] of definedHeaders(response.getHeaders())) copy.setHeader(name, value)
  return copy
}

function linesOf(response: ServerResponse): Reply['headers'] {
  return response.getHeaderNames().flatMap((name) => {
    const value = response.getHeader(name) ?? []
    return (Array.isArray(value) ? value : [value]).map((line) => [name, String(line)] as const)
  })
}

function definedHeaders(headers: OutgoingHttpHeaders): (readonly [string, number | string | string[]])[] {
  return Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
}

/** The headers of `writeHead`: an object, or names and values in turns. */
function headerArguments(given: unknown): (readonly [string, number | string | string[]])[] {
  if (typeof given !== 'object' || given === null) return []
  if (!Array.isArray(given)) return definedHeaders(given as OutgoingHttpHeaders)
  const flat: unknown[] = given.flat()
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name), String(flat[at + 1])] as const] : []))
}
