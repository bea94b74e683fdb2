import type { Readable } from 'node:stream'
import type {
  FastifyReply,
  FastifyRequest,
  preParsingHookHandler,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerBase,
  RawServerDefault,
  RouteGenericInterface,
  RouteShorthandOptionsWithHandler,
} from 'fastify'
import {
  type AnyOperationRoute,
  type Engine,
  handle,
  marked,
  type OperationRouteOptions,
  type RouteOptions,
  routeOf,
  type Work,
} from '../http/port.js'
import { isPromise } from '../kernel/awaitable.js'
import { FastifyExchange, type Kept, place } from './fastify-exchange.js'
import { payloadOf } from './fastify-payload.js'
import type { Handler } from './held-reply.js'
import { nobody, refuseMissingHandler } from './missing-handler.js'
import { WatchedBody } from './watched-body.js'

export { keyStatus } from './fastify-status.js'

export type GuardedRequest<Tx, G extends RouteGenericInterface = RouteGenericInterface> = FastifyRequest<G> & {
  readonly work: Work<Tx>
}

/** The options of a route of Fastify, whose handler finds its work at the request. */
export type GuardedRoute<Tx, G extends RouteGenericInterface, S extends RawServerBase = RawServerDefault> = Omit<
  FastifyRoute<G, S>,
  'handler'
> & { readonly handler: (request: GuardedRequest<Tx, G>, reply: FastifyReply) => unknown }

type FastifyRoute<G extends RouteGenericInterface, S extends RawServerBase> = RouteShorthandOptionsWithHandler<
  S,
  RawRequestDefaultExpression<S>,
  RawReplyDefaultExpression<S>,
  G
>

/**
 * Nobody calls it. The first form that `app.post` has takes a handler, and only from something like one TypeScript
 * learns there what `app.post<{ Body: Payment }>` says of the request.
 */
type Typed<G extends RouteGenericInterface, S extends RawServerBase> = (
  request: FastifyRequest<G, S, RawRequestDefaultExpression<S>>,
  reply: never,
  nobody: never,
) => never

/**
 * Guards a route of Fastify 5. The guard stands where the handler was, behind every hook of the route, the application
 * and its plugins: the caller is authenticated and the body is validated by then, on a replay too. What the handler
 * sends is held back, serialised, until it is durable; the hooks that come with sending see the first answer and a
 * replay alike. What the handler throws goes to the error handler of the application.
 *
 * @example
 * app.post<{ Body: Payment }>('/payments', guard(hapax, { name: 'payments.create', scope: tenantOf }, {
 *   preHandler: authenticate,
 *   handler: (request, reply) => request.work.commit(async ({ tx }) => pay(tx, request.body)),
 * }))
 */
export function guard<
  Tx,
  Input,
  G extends RouteGenericInterface = RouteGenericInterface,
  S extends RawServerBase = RawServerDefault,
>(
  engine: Engine<Tx>,
  options: OperationRouteOptions<Tx, FastifyRequest, Input>,
  others?: Omit<GuardedRoute<Tx, G, S>, 'handler'>,
): FastifyRoute<G, S> & Typed<G, S>
export function guard<
  Tx,
  G extends RouteGenericInterface = RouteGenericInterface,
  S extends RawServerBase = RawServerDefault,
>(
  engine: Engine<Tx>,
  options: RouteOptions<FastifyRequest>,
  guarded: GuardedRoute<Tx, G, S>,
): FastifyRoute<G, S> & Typed<G, S>
export function guard<
  Tx,
  G extends RouteGenericInterface = RouteGenericInterface,
  S extends RawServerBase = RawServerDefault,
>(
  engine: Engine<Tx>,
  options: RouteOptions<FastifyRequest> | AnyOperationRoute<Tx, FastifyRequest>,
  guarded: Partial<GuardedRoute<Tx, G, S>> = {},
): FastifyRoute<G, S> & Typed<G, S> {
  const route = routeOf(engine, options)
  refuseMissingHandler(route, guarded?.handler, '{ handler: (request, reply) => … }')
  const { handler = nobody } = guarded as unknown as { handler?: Handler }

  // Fastify prints the names of hooks: by this one an audit of routes knows that a route is guarded.
  const hapaxGuard: preParsingHookHandler = (request, _reply, payload, done) => {
    if (route.methods.includes(request.method)) {
      // A hook that has unwrapped the body, as those of @fastify/compress do, says so by this: Fastify asks for it.
      const isUnwrapped = payload !== request.raw && 'receivedEncodedLength' in payload
      ;(request as Kept<Tx>)[place] = { isUnwrapped, body: new WatchedBody(payload as Readable, route.bodyLimit) }
    }
    done(null, payload)
  }

  const guarding = (request: Kept<Tx>, reply: FastifyReply): unknown => {
    const exchange = new FastifyExchange(request, reply, handler)
    const handled = handle(engine, exchange, route, request)
    if (isPromise(handled)) return handled.then(exchange.leave.bind(exchange), exchange.threw.bind(exchange))
    if (handled.kind === 'reply') return void reply.send(payloadOf(handled.reply, reply))
    request.work = handled.work
    return handler.call(request.server, request, reply)
  }

  const own = {
    preParsing: [hapaxGuard, ...[guarded.preParsing ?? []].flat()],
    handler: marked(guarding, route),
  }
  return { ...guarded, ...own } as unknown as FastifyRoute<G, S> & Typed<G, S>
}
