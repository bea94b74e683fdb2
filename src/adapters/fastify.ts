import { Readable } from 'node:stream'
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
import { type Engine, type Exchange, problemReply, type RouteOptions, routeOf, type Work } from '../http/port.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { awaitedCommit } from './awaited-commit.js'
import { type HeldReply, heldReply, replyOf } from './held-reply.js'
import { keptBody } from './kept-body.js'

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
  const passages = new WeakMap<FastifyRequest, HeldReply>()

  const preParsing: preParsingHookHandler = (request, reply, payload, done) => {
    if (!route.methods.includes(request.method)) return done(null, payload)
    const held = heldReply(reply)
    passages.set(request, held)
    if (payload !== request.raw) return done(bodyReplaced(), payload)
    keptBody(request.raw, route.bodyLimit).then(
      (body) => {
        held.body = body
        done(null, request.raw.readableEnded ? Readable.from([body], { objectMode: false }) : payload)
      },
      (error) => (isHapaxError(error) ? held.answer(problemReply(error, route.profile)) : done(error, payload)),
    )
  }

  const preHandler: preHandlerHookHandler = (request, reply, done) => {
    const held = passages.get(request) ?? heldReply(reply)
    const handled = handle(engine, exchangeOf<Tx>(request, held, done), route, request)
    held.sending = handled.then((ended) => (ended.kind === 'reply' ? ended.reply : undefined))
    // Only a hook that holds a payload waits for it.
    held.sending.catch(() => {})
    handled.then(
      (ended) => {
        if (ended.kind === 'reply') return held.answer(ended.reply)
        Object.assign(request, { work: ended.work })
        done()
      },
      (error) => {
        if (held.phase === 'waiting') done(error)
        else if (held.phase === 'running') reply.send(error)
      },
    )
  }

  const onError: onErrorHookHandler = (request, _reply, error, done) => {
    passages.get(request)?.threw(error)
    done()
  }

  const onSend: onSendHookHandler<unknown> = (request, reply, payload, done) => {
    const held = passages.get(request)
    if (held?.answered !== undefined) return done(null, held.deliver(held.answered))
    if (held === undefined || held.phase === 'waiting') return done(null, payload)
    if (held.phase === 'overtaken') return
    if (held.phase === 'captured') {
      // The first thing that a handler sends is its answer. Only if nothing became of that, because the commit around
      // it failed, what the error handler says is sent.
      if (held.failed !== 'after its answer') return
      held.phase = 'overtaken'
      held.sending.catch(() => done(null, payload))
      return
    }
    held.phase = 'captured'
    replyOf(reply, payload).then(
      (said) => {
        held.settle(said)
        held.sending.then(
          (answer) => done(null, answer === undefined ? said.body : held.deliver(answer)),
          (error) => {
            if (held.failed === 'before its answer') return done(null, said.body)
            if (held.failed === 'after its answer') return
            held.giveBack()
            done(error)
          },
        )
      },
      (error) => {
        held.phase = 'running'
        done(error)
      },
    )
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

function exchangeOf<Tx>(request: FastifyRequest, held: HeldReply, goOn: () => void): Exchange<Tx> {
  return {
    method: request.method,
    target: request.originalUrl,
    lines: (name) => linesOf(request, name),
    body: async () => held.body,
    async run(work) {
      const awaited = awaitedCommit(work)
      held.hold()
      Object.assign(request, { work: awaited.work })
      goOn()
      try {
        await held.ended
      } finally {
        await awaited.settled()
      }
    },
    captured: (value) => held.captured(value),
  }
}

/** A request that is injected, as in tests, has no distinct headers. */
function linesOf({ raw, headers }: FastifyRequest, name: string): readonly string[] {
  const distinct: NodeJS.Dict<string[]> | undefined = raw.headersDistinct
  return distinct?.[name] ?? [headers[name] ?? []].flat()
}

function listOf<T>(given: T | T[] | undefined): T[] {
  return given === undefined ? [] : Array.isArray(given) ? given : [given]
}

function bodyReplaced(): HapaxError {
  const message =
    'A preParsing hook of the application replaced the body before the guard could keep its bytes; give that hook to the route.'
  return new HapaxError('policy_invalid', message)
}
