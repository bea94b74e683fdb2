import type { IncomingMessage, ServerResponse } from 'node:http'
import { handle } from '../http/door.js'
import {
  type Engine,
  type Exchange,
  type Reply,
  type RouteOptions,
  refuseEventStream,
  routeOf,
  tooLarge,
  type Work,
} from '../http/port.js'
import { send } from './held-response.js'

export { keyStatus } from './node-status.js'

/** What a handler of bare `node:http` is given beside the request: its work, and the body, which has been read. */
export interface Given<Tx> {
  readonly work: Work<Tx>
  readonly body: Uint8Array
}

export type NodeHandler<Tx> = (request: IncomingMessage, given: Given<Tx>) => Reply | Promise<Reply>

/**
 * Guards a handler of `node:http` that returns its reply. It is sent when it is durable.
 *
 * @example
 * const payments = guard(hapax, { name: 'payments.create', scope: tenantOf }, async (request, { work, body }) => …)
 * createServer((request, response) => payments(request, response))
 */
export function guard<Tx>(
  engine: Engine<Tx>,
  options: RouteOptions<IncomingMessage>,
  handler: NodeHandler<Tx>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const route = routeOf(engine, options)
  return async (request, response) => {
    const exchange = exchangeOf(request, handler)
    const handled = await handle(engine, exchange, route, request)
    if (handled.kind === 'reply') return send(response, handled.reply)
    const body = await exchange.body(route.bodyLimit)
    send(response, await handler(request, { work: handled.work, body }))
  }
}

function exchangeOf<Tx>(request: IncomingMessage, handler: NodeHandler<Tx>): Exchange<Tx> {
  let body: Uint8Array = new Uint8Array()
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    lines: (name) => request.headersDistinct[name] ?? [],
    async body(limit) {
      body = await bytesOf(request, limit)
      return body
    },
    async run(work) {
      const reply = await handler(request, { work, body })
      refuseEventStream(reply.headers)
      return reply
    },
    captured: async (value) => value as Reply,
  }
}

/** What comes after the limit is read and dropped: a client that still sends would not see the answer otherwise. */
function bytesOf(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.byteLength
      if (length <= limit) chunks.push(chunk)
      else reject(tooLarge(limit))
    })
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
  })
}
