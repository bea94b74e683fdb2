import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type AnyOperationRoute,
  type Engine,
  type Exchange,
  handle,
  type OperationRouteOptions,
  type Reply,
  type RouteOptions,
  refuseEventStream,
  routeOf,
  type Work,
} from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'
import { type AnswerError, served } from './answered-errors.js'
import { nobody, refuseMissingHandler } from './missing-handler.js'
import { readBody } from './read-body.js'
import { send } from './sent-reply.js'

export type { AnswerError } from './answered-errors.js'
export { keyStatus } from './node-status.js'

/** What a handler of bare `node:http` is given beside the request. */
export interface Given<Tx> {
  readonly work: Work<Tx>
  /** The body, which has been read. Empty under a method that is not guarded: there it is in the request still. */
  readonly body: Uint8Array
}

export type NodeHandler<Tx> = (request: IncomingMessage, given: Given<Tx>) => Reply | Promise<Reply>

export interface NodeOptions extends RouteOptions<IncomingMessage>, ErrorOptions {}

export interface NodeOperationOptions<Tx, Input>
  extends OperationRouteOptions<Tx, IncomingMessage, Input>,
    ErrorOptions {}

interface ErrorOptions {
  /** Answers what the handler threw. Without it that is a 500 in the shape of the profile, and a line in the log. */
  readonly answerError?: AnswerError
}

/**
 * Guards a handler of `node:http` that returns its reply. It is sent when it is durable. The listener never rejects: what
 * the handler throws is answered with a 500 and logged, or given to `answerError`; a client that went away is let go.
 *
 * A method that the route does not guard goes straight to the handler, with its body unread and without our limit. Under
 * one that it does, nobody may read the body before the guard.
 *
 * @example
 * const payments = guard(hapax, { name: 'payments.create', scope: tenantOf }, async (request, { work, body }) => ({
 *   status: 201,
 *   headers: [['Content-Type', 'application/json']],
 *   body: Buffer.from(JSON.stringify(await pay(JSON.parse(body.toString())))),
 * }))
 * createServer((request, response) => void payments(request, response))
 */
export function guard<Tx, Input>(
  engine: Engine<Tx>,
  options: NodeOperationOptions<Tx, Input>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void>
export function guard<Tx>(
  engine: Engine<Tx>,
  options: NodeOptions,
  handler: NodeHandler<Tx>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void>
export function guard<Tx>(
  engine: Engine<Tx>,
  options: NodeOptions | (AnyOperationRoute<Tx, IncomingMessage> & ErrorOptions),
  handler?: NodeHandler<Tx>,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  const { answerError, ...others } = options ?? {}
  const route = routeOf(engine, options && (others as RouteOptions<IncomingMessage>))
  refuseMissingHandler(route, handler, '(request, { work, body }) => ({ status, headers, body })')
  const { methods, policy, profile } = route
  const answering = { engine, name: policy.name, profile, answerError }

  return (request, response) => {
    const serve = async () => {
      if (methods.includes(request.method ?? '') && request.readableDidRead) throw readBefore(policy.name)
      const handled = await handle(engine, exchangeOf(request, handler ?? nobody), route, request)
      if (handled.kind === 'reply') return send(response, handled.reply)
      send(response, replyIn(await (handler ?? nobody)(request, { work: handled.work, body: new Uint8Array() })))
    }
    return served(serve, request, response, answering)
  }
}

function exchangeOf<Tx>(request: IncomingMessage, handler: NodeHandler<Tx>): Exchange<Tx> {
  let body: Uint8Array = new Uint8Array()
  return {
    comesInTurns: true,
    method: request.method ?? '',
    target: request.url ?? '',
    lines: (name) => request.headersDistinct[name] ?? [],
    async body(limit) {
      body = await readBody(request, limit)
      return body
    },
    async run(work) {
      const reply = replyIn(await handler(request, { work, body }))
      refuseEventStream(reply.headers)
      return reply
    },
    captured: replyIn,
  }
}

/** What came out of a handler, or out of `work.commit`, if it can be sent. */
function replyIn(value: unknown): Reply {
  const { status, headers, body } = (value ?? {}) as Partial<Reply>
  if (typeof status === 'number' && Array.isArray(headers) && body instanceof Uint8Array) return value as Reply
  const message =
    'The handler of a guarded route returned no reply; return { status, headers, body } on every path, and inside work.commit: headers as pairs, the body as bytes.'
  throw new HapaxError('handler_failed', message)
}

function readBefore(name: string): HapaxError {
  const message = `Route "${name}": the body was read before the guard, and its bytes are gone. Leave it to the guard; the handler is given it as body.`
  return new HapaxError('policy_invalid', message)
}
