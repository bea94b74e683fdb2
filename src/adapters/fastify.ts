import type {
  FastifyReply,
  FastifyRequest,
  onErrorHookHandler,
  onSendHookHandler,
  preHandlerHookHandler,
  preParsingHookHandler,
  RouteGenericInterface,
  RouteShorthandOptionsWithHandler,
} from 'fastify'
import { handle } from '../http/door.js'
import {
  type Engine,
  type Exchange,
  type Handled,
  type Reply,
  type RouteOptions,
  routeOf,
  type Work,
} from '../http/port.js'
import { type Awaitable, after, attempted, isPromise } from '../kernel/awaitable.js'
import { HapaxError, invariant } from '../kernel/errors.js'
import { awaitedCommit } from './awaited-commit.js'
import { HeldReply } from './held-reply.js'
import { watchedBody } from './watched-body.js'

export { keyStatus } from './fastify-status.js'

export type GuardedRequest<Tx, G extends RouteGenericInterface = RouteGenericInterface> = FastifyRequest<G> & {
  readonly work: Work<Tx>
}

/** The options of a route of Fastify, whose handler finds its work at the request. */
export type GuardedRoute<Tx, G extends RouteGenericInterface> = Omit<RouteShorthandOptionsWithHandler, 'handler'> & {
  readonly handler: (request: GuardedRequest<Tx, G>, reply: FastifyReply) => unknown
}

/**
 * Guards a route of Fastify 5. The guard stands behind the hooks of the route, so that the caller is authenticated and
 * the body is validated by then. What Fastify would send, after serialisation and before compression, is held back
 * until it is durable. What the handler throws goes to the error handler of the application.
 *
 * @example
 * app.post('/payments', guard(hapax, { name: 'payments.create', scope: tenantOf }, {
 *   preHandler: authenticate,
 *   handler: (request, reply) => request.work.commit(async ({ tx }) => pay(tx, request.body)),
 * }))
 */
export function guard<Tx, G extends RouteGenericInterface = RouteGenericInterface>(
  engine: Engine<Tx>,
  options: RouteOptions<FastifyRequest>,
  guarded: GuardedRoute<Tx, G>,
): RouteShorthandOptionsWithHandler {
  const route = routeOf(engine, options)

  const preParsing: preParsingHookHandler = (request, reply, payload, done) => {
    const body = payload === request.raw ? watchedBody(request.raw, route.bodyLimit) : undefined
    const kept: Kept<Tx> = request
    kept[place] = new FastifyExchange(request, reply, body)
    done(null, payload)
  }

  const preHandler: preHandlerHookHandler = (request, _reply, done) => {
    const kept: Kept<Tx> = request
    const exchange = kept[place]
    invariant(exchange, 'preParsing comes before preHandler')
    exchange.goOn = done
    const ended = attempted(
      () => after(handle(engine, exchange, route, request), (handled) => answer(exchange, handled, kept, done)),
      (error) => (exchange.held.isWaiting() ? done(error as Error) : exchange.held.refuse(error as Error)),
    )
    if (isPromise(ended)) ended.catch(done)
  }

  const onError: onErrorHookHandler = (request, _reply, error, done) => {
    const kept: Kept<Tx> = request
    kept[place]?.held.threw(error)
    done()
  }

  const onSend: onSendHookHandler<unknown> = (request, _reply, payload, done) => {
    const { [place]: exchange }: Kept<Tx> = request
    if (exchange === undefined) done(null, payload)
    else exchange.held.sends(payload, done)
  }

  return {
    ...guarded,
    handler: guarded.handler as RouteShorthandOptionsWithHandler['handler'],
    preParsing: [preParsing, ...listOf(guarded.preParsing)],
    preHandler: [...listOf(guarded.preHandler), preHandler],
    onError: [onError, ...listOf(guarded.onError)],
    onSend: [onSend, ...listOf(guarded.onSend)],
  }
}

function answer<Tx>(exchange: FastifyExchange<Tx>, handled: Handled<Tx>, kept: Kept<Tx>, done: Done): void {
  if (exchange.misuse !== undefined) return done(exchange.misuse)
  if (handled.kind === 'reply') return exchange.held.answer(handled.reply)
  kept.work = handled.work
  done()
}

type Done = (error?: Error) => void

/** Where a request keeps its exchange. A weak map would cost the collector more than the rest of the adapter costs. */
const place = Symbol('hapax')

type Kept<Tx> = FastifyRequest & { [place]?: FastifyExchange<Tx>; work?: Work<Tx> }

class FastifyExchange<Tx> implements Exchange<Tx> {
  readonly method: string
  readonly target: string
  readonly held: HeldReply
  /** What is for the developer and not for the client. */
  misuse: HapaxError | undefined
  /** Lets Fastify call the handler. */
  goOn: () => void = () => {}
  readonly #request: Kept<Tx>
  readonly #body: (() => Awaitable<Uint8Array>) | undefined
  #ended: Promise<Reply> | undefined

  constructor(request: FastifyRequest, reply: FastifyReply, body: (() => Awaitable<Uint8Array>) | undefined) {
    this.method = request.method
    this.target = request.originalUrl
    this.held = new HeldReply(reply)
    this.#request = request
    this.#body = body
  }

  lines(name: string): readonly string[] {
    const { rawHeaders } = this.#request.raw
    const lines: string[] = []
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const given = rawHeaders[at] as string
      if (given.length === name.length && given.toLowerCase() === name) lines.push(rawHeaders[at + 1] as string)
    }
    return lines
  }

  body(): Awaitable<Uint8Array> {
    if (this.#body !== undefined) return this.#body()
    this.misuse = bodyReplaced()
    throw this.misuse
  }

  async run(work: Work<Tx>): Promise<void> {
    const awaited = awaitedCommit(work)
    this.#ended = this.held.hold()
    this.#request.work = awaited.work
    this.goOn()
    try {
      await this.#ended
    } finally {
      const committing = awaited.committing()
      if (committing !== undefined) await committing
    }
  }

  captured(value: unknown): Awaitable<Reply> {
    this.held.commit(value)
    return this.held.said() ?? (this.#ended as Promise<Reply>)
  }
}

function listOf<T>(given: T | T[] | undefined): T[] {
  return given === undefined ? [] : Array.isArray(given) ? given : [given]
}

function bodyReplaced(): HapaxError {
  const message =
    'A preParsing hook of the application replaced the body before the guard could keep its bytes; give that hook to the route.'
  return new HapaxError('policy_invalid', message)
}
