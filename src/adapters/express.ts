import type { IncomingMessage } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { handle } from '../http/door.js'
import { type Engine, type Exchange, type RouteOptions, routeOf, tooLarge, type Work } from '../http/port.js'
import { HapaxError } from '../kernel/errors.js'
import { awaitedCommit } from './awaited-commit.js'
import { type HeldResponse, holdBack, send } from './held-response.js'
import { keptBody } from './kept-body.js'

export { keyStatus } from './express-status.js'

export type GuardedRequest<Tx> = Request & { readonly work: Work<Tx> }

/** A handler of Express 4 or 5, or a whole router. It may return a promise in both. */
export type ExpressHandler<Tx> = (request: GuardedRequest<Tx>, response: Response, next: NextFunction) => unknown

/**
 * Guards a handler of Express. What it writes into `response` is held back until it is durable. What it throws, or
 * gives to `next`, goes to the error handlers of the application, and nothing of what it wrote before is sent.
 *
 * A parser may stand behind the guard. One that stands before it has to keep the bytes:
 * `express.json({ verify: keepRawBody })`.
 *
 * @example
 * app.post('/payments', guard(hapax, { name: 'payments.create', scope: tenantOf }, async (request, response) => {
 *   await request.work.commit(async ({ tx }) => response.status(201).json(await pay(tx, request.body)))
 * }))
 */
export function guard<Tx>(
  engine: Engine<Tx>,
  options: RouteOptions<Request>,
  handler: ExpressHandler<Tx>,
): (request: Request, response: Response, next: NextFunction) => void {
  const route = routeOf(engine, options)
  return (request, response, next) => {
    const exchange = exchangeOf(request, response, next, handler)
    const serve = async () => {
      const handled = await handle(engine, exchange, route, request)
      const misuse = exchange.letGo()
      if (misuse !== undefined) throw misuse
      if (handled.kind === 'reply') send(response, handled.reply)
      else await called(handler, withWork(request, handled.work), response, next)
    }
    serve().catch((error: unknown) => {
      exchange.letGo()
      next(error)
    })
  }
}

const rawBodies = new WeakMap<IncomingMessage, Uint8Array>()

/** Keeps the bytes of a body that is parsed before the guard: `express.json({ verify: keepRawBody })`. */
export function keepRawBody(request: IncomingMessage, _response: unknown, bytes: Uint8Array): void {
  rawBodies.set(request, bytes)
}

interface ExpressExchange<Tx> extends Exchange<Tx> {
  /** Gives the response back. What is returned is for the developer and not for the client. */
  letGo(): HapaxError | undefined
}

function exchangeOf<Tx>(
  request: Request,
  response: Response,
  next: NextFunction,
  handler: ExpressHandler<Tx>,
): ExpressExchange<Tx> {
  let held: HeldResponse | undefined
  let misuse: HapaxError | undefined
  return {
    method: request.method,
    // A router cuts its own path off `url`.
    target: request.originalUrl,
    // A parser keeps the bytes without their encoding.
    lines: (name) =>
      name === 'content-encoding' && rawBodies.has(request) ? [] : (request.headersDistinct[name] ?? []),
    async body(limit) {
      const raw = rawBodies.get(request)
      if (raw === undefined && request.readableDidRead) {
        misuse = parsedWithoutBytes()
        throw misuse
      }
      if (raw !== undefined && raw.byteLength > limit) throw tooLarge(limit)
      return raw ?? keptBody(request, limit)
    },
    run(work) {
      const holding = holdBack(response)
      held = holding
      const awaited = awaitedCommit(work)
      return new Promise((resolve, reject) => {
        const failed = (error: unknown) =>
          void Promise.resolve(awaited.committing()).then(
            () => reject(error),
            () => reject(error),
          )
        const goOn = (error?: unknown) => (isNoError(error) ? next(error) : failed(error))
        holding.ended.then(awaited.committing).then(resolve, reject)
        called(handler, withWork(request, awaited.work), response, goOn).catch(failed)
      })
    },
    async captured() {
      if (held === undefined || !held.isBegun()) throw notAnswered()
      return held.ended
    },
    letGo() {
      held?.letGo()
      held = undefined
      return misuse
    },
  }
}

/** Express 4 does not look at what a handler returns. */
async function called<Tx>(
  handler: ExpressHandler<Tx>,
  request: GuardedRequest<Tx>,
  response: Response,
  next: NextFunction,
): Promise<void> {
  await handler(request, response, next)
}

function withWork<Tx>(request: Request, work: Work<Tx>): GuardedRequest<Tx> {
  return Object.assign(request, { work })
}

/** Express goes on to the next handler, the next route or the next router. */
function isNoError(given: unknown): given is undefined {
  return !given || given === 'route' || given === 'router'
}

function parsedWithoutBytes(): HapaxError {
  const message =
    'The body was read before the guard, and its bytes are gone. Write express.json({ verify: keepRawBody }), with keepRawBody from hapax/express; or put the parser behind the guard.'
  return new HapaxError('policy_invalid', message)
}

function notAnswered(): HapaxError {
  const message = 'Write the response inside work.commit: it is committed together with your rows.'
  return new HapaxError('handler_failed', message)
}
