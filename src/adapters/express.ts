import type { NextFunction, Request, Response } from 'express'
import {
  type AnyOperationRoute,
  type Engine,
  type Exchange,
  handle,
  marked,
  type OperationRouteOptions,
  type Reply,
  type RouteOptions,
  routeOf,
  type Work,
} from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'
import { heldAnswer } from './held-answer.js'
import { type HeldResponse, holdBack } from './held-response.js'
import { nobody, refuseMissingHandler } from './missing-handler.js'
import { linesOf, rawBody, refuseParsedBody } from './raw-body.js'
import { send, sendWhole } from './sent-reply.js'

export { keyStatus } from './express-status.js'
export { keepRawBody } from './raw-body.js'

export type GuardedRequest<Tx> = Request & { readonly work: Work<Tx> }

/** A handler of Express 4 or 5, or a whole router. It may return a promise in both. */
export type ExpressHandler<Tx> = (request: GuardedRequest<Tx>, response: Response, next: NextFunction) => unknown

/**
 * Guards a handler of Express. What it writes into `response` is held back until it is durable. What it throws, or
 * gives to `next`, goes to the error handlers of the application, and nothing of what it wrote before is sent. One that
 * returns a promise has at least begun to answer when the promise is over.
 *
 * A parser may stand behind the guard. One that stands before it has to keep the bytes:
 * `express.json({ verify: keepRawBody })`.
 *
 * @example
 * app.post('/payments', guard(hapax, { name: 'payments.create', scope: tenantOf }, async (request, response) => {
 *   await request.work.commit(async ({ tx }) => response.status(201).json(await pay(tx, request.body)))
 * }))
 *
 * @example
 * // A route that is bound to an operation has no handler of its own.
 * app.post('/rides', guard(hapax, { scope: tenantOf, operation: createRide }))
 */
export function guard<Tx, Input>(
  engine: Engine<Tx>,
  options: OperationRouteOptions<Tx, Request, Input>,
): (request: Request, response: Response, next: NextFunction) => void
export function guard<Tx>(
  engine: Engine<Tx>,
  options: RouteOptions<Request>,
  handler: ExpressHandler<Tx>,
): (request: Request, response: Response, next: NextFunction) => void
export function guard<Tx>(
  engine: Engine<Tx>,
  options: RouteOptions<Request> | AnyOperationRoute<Tx, Request>,
  handler?: ExpressHandler<Tx>,
): (request: Request, response: Response, next: NextFunction) => void {
  const route = routeOf(engine, options)
  refuseMissingHandler(route, handler, '(request, response, next) => …')
  return marked((request: Request, response: Response, next: NextFunction) => {
    const exchange = exchangeOf(request, response, next, handler ?? nobody)
    const serve = async () => {
      if (route.methods.includes(request.method)) refuseParsedBody(request)
      const handled = await handle(engine, exchange, route, request)
      if (handled.kind === 'reply') exchange.reply(handled.reply)
      // Express 4 does not look at what a handler returns.
      else await (handler ?? nobody)(withWork(request, handled.work), response, next)
    }
    serve().catch((error: unknown) => {
      exchange.letGo()
      next(error)
    })
  }, route)
}

interface ExpressExchange<Tx> extends Exchange<Tx> {
  /** Sends what came out of the door. */
  reply(reply: Reply): void
  /** Gives the response back to the application. */
  letGo(): void
}

function exchangeOf<Tx>(
  request: Request,
  response: Response,
  next: NextFunction,
  handler: ExpressHandler<Tx>,
): ExpressExchange<Tx> {
  let held: HeldResponse | undefined
  let answer: Reply | undefined
  let isRunning = false
  return {
    comesInTurns: true,
    method: request.method,
    // A router cuts its own path off `url`.
    target: request.originalUrl,
    lines: (name) => linesOf(request, name),
    body: (limit) => rawBody(request, limit),
    run(work) {
      held = holdBack(response)
      isRunning = true
      const call = (goOn: NextFunction) => handler(withWork(request, work), response, goOn)
      return heldAnswer(held, call, next).finally(() => {
        isRunning = false
      })
    },
    async captured() {
      if (held === undefined || !held.isBegun()) throw notWritten()
      answer = await held.ended
      return answer
    },
    reply(reply) {
      // The handler has run for longer than it may: what it will have written by its end is kept.
      if (isRunning) return held?.sendBeside(() => send(response, reply))
      held?.letGo()
      // The body of another answer is made of other bytes, even if they are the same.
      if (answer !== undefined && reply.body === answer.body) sendWhole(response, reply)
      else send(response, reply)
    },
    letGo: () => held?.letGo(),
  }
}

function withWork<Tx>(request: Request, work: Work<Tx>): GuardedRequest<Tx> {
  return Object.assign(request, { work })
}

function notWritten(): HapaxError {
  const message = 'Write the response inside work.commit: it is committed together with your rows.'
  return new HapaxError('handler_failed', message)
}
