import type { Engine } from '../engine/engine.js'
import type { Guarded } from '../engine/guarded.js'
import { type IdempotencyKey, keyOf } from '../engine/key.js'
import type { Told } from '../engine/outcome.js'
import type { StoredAnswer } from '../engine/record.js'
import { type Scope, scopeOf } from '../engine/scope.js'
import { emptyWork } from '../engine/unprotected.js'
import { type Awaitable, after, attempted } from '../kernel/awaitable.js'
import { systemChance } from '../kernel/chance.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { decoded } from './content-encoding.js'
import type { Exchange, Handled, Reply } from './exchange.js'
import { exposed } from './exposed.js'
import { parseKeyHeader } from './header.js'
import { keptHeaders, reframed } from './kept-headers.js'
import { problemReply } from './problem.js'
import type { Route } from './route.js'
import { sendable } from './sendable.js'
import { acceptedStatus, isOurs } from './statuses.js'
import { subjectOf } from './target.js'

/**
 * The one door. Every adapter hands its exchange in here, and sends what comes out, after it is durable: route, key,
 * scope, body, fingerprint, reservation, handler, answer. What the handler threw goes on its way to the application.
 */
export function handle<Tx, Request>(
  engine: Engine<Tx>,
  exchange: Exchange<Tx>,
  route: Route<Request>,
  request: Request,
): Awaitable<Handled<Tx>> {
  if (!route.methods.includes(exchange.method))
    return { kind: 'unguarded', work: emptyWork(new AbortController().signal, notGuarded) }
  const ended = attempted(
    () => guarded(engine, exchange, route, request),
    (error) => ({ kind: 'reply' as const, reply: told(engine, error, route) }),
  )
  return after(ended, (ended) => {
    if (ended.kind === 'threw') throw ended.error
    return { kind: 'reply', reply: exposed(ended.reply, exchange, route.profile) }
  })
}

/** How it ended: with a reply, or with an error that is the application's to answer. */
type Ended = { readonly kind: 'reply'; readonly reply: Reply } | { readonly kind: 'threw'; readonly error: unknown }

function guarded<Tx, Request>(
  engine: Engine<Tx>,
  exchange: Exchange<Tx>,
  route: Route<Request>,
  request: Request,
): Awaitable<Ended> {
  const given = keyIn(exchange, route)
  return after(route.scope(request), (parts) => {
    const scope: Scope = scopeOf(parts)
    return after(bodyOf(exchange, route), (body) => {
      const source = {
        subject: subjectOf(exchange),
        mediaType: exchange.lines('content-type')[0],
        body,
        header: (name: string) => joined(exchange.lines(name)),
      }
      return run(engine, exchange, route, request, { scope, source, ...keyFor(given) })
    })
  })
}

type Asked = Pick<Guarded<never>, 'scope' | 'key' | 'minted' | 'source'>

function run<Tx, Request>(
  engine: Engine<Tx>,
  exchange: Exchange<Tx>,
  route: Route<Request>,
  request: Request,
  asked: Asked,
): Awaitable<Ended> {
  const { policy, keepHeaders, authorizeReplay, profile } = route
  // What the application said in full, by what is kept of it: a handler may commit one answer and return another.
  const said = new Map<Reply['headers'], Reply>()
  const captured = (given: Reply) => {
    const reply = reframed(sendable(given))
    const headers = keptHeaders(reply.headers, keepHeaders)
    said.set(headers, reply)
    return { status: reply.status, headers, body: reply.body }
  }
  const outcome = engine.execute({
    ...asked,
    policy,
    handler: (work) => exchange.run(work),
    toAnswer: (value) => after(exchange.captured(value), captured),
    ...(authorizeReplay && { authorizeReplay: (answer) => authorizeReplay(request, answer) }),
    errorToAnswer(error) {
      engine.log({ level: 'error', code: 'handler_failed', message: `"${policy.name}" threw ${wordsOf(error)}` })
      return problemReply(handlerFailed(error), profile)
    },
  })
  return after(outcome, (outcome) => {
    if (outcome.kind === 'threw') return thrown(engine, outcome.error, route)
    const whole = outcome.kind === 'answered' ? said.get(outcome.answer.headers) : undefined
    return after(replyOf(outcome, { route, request, whole, isMinted: asked.minted === true }), (reply) => ({
      kind: 'reply',
      reply,
    }))
  })
}

/**
 * An error out of a handler is the application's, one of ours too: a key that it complains about is not the key of this
 * request. Only when the store failed below the handler it is for us to say, and to say that a retry helps.
 */
function thrown<Tx, Request>(engine: Engine<Tx>, error: unknown, route: Route<Request>): Ended {
  const isStores = isHapaxError(error) && error.retryable && error.fault !== 'caller'
  return isStores ? { kind: 'reply', reply: told(engine, error, route) } : { kind: 'threw', error }
}

/** An error of ours as a reply. What the client is not told, the log is. */
function told<Tx, Request>(engine: Engine<Tx>, error: unknown, { profile, policy }: Route<Request>): Reply {
  if (!isHapaxError(error)) throw error
  const reply = problemReply(error, profile)
  if (isOurs(reply.status)) {
    const message = `a request to "${policy.name}" got ${reply.status}: ${wordsOf(error)}`
    engine.log({ level: 'error', code: error.code, message })
  }
  return reply
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no error'
  const { name, message, cause } = error
  return `${name}: ${message}${cause instanceof Error ? ` (${wordsOf(cause)})` : ''}`
}

/** Lines of one name are one list. */
function joined(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join(', ')
}

function notGuarded(): HapaxError {
  return new HapaxError('transaction_unsupported', 'This method is not guarded: there is no record to commit with.')
}

/** The key that came; `undefined` where none came and none has to. */
function keyIn<Tx, Request>(exchange: Exchange<Tx>, { key, profile }: Route<Request>): IdempotencyKey | undefined {
  const lines = exchange.lines(profile.header)
  return lines.length === 0 && key === 'optional' ? undefined : parseKeyHeader(lines, profile.key)
}

/** A request without a key is guarded by one of its own, so that its handler holds a work all the same. */
function keyFor(given: IdempotencyKey | undefined): Pick<Asked, 'key' | 'minted'> {
  return given === undefined ? { key: keyOf(systemChance.id()), minted: true } : { key: given }
}

function bodyOf<Tx, Request>(exchange: Exchange<Tx>, { bodyLimit }: Route<Request>): Awaitable<Uint8Array> {
  return after(exchange.body(bodyLimit), (body) => decoded(body, exchange.lines('content-encoding'), bodyLimit))
}

interface Replying<Request> {
  readonly route: Route<Request>
  readonly request: Request
  /** What the application said, if this is its answer and no replay. */
  readonly whole: Reply | undefined
  /** Nobody sent the key, so nobody is told how long it lives. */
  readonly isMinted: boolean
}

function replyOf<Request>(outcome: Told, { route, request, whole, isMinted }: Replying<Request>): Awaitable<Reply> {
  switch (outcome.kind) {
    case 'refused':
      throw outcome.error
    case 'accepted': {
      const retryAfter = String(Math.max(1, Math.ceil(outcome.retryAfterMs / 1_000)))
      const headers = [['Location', route.statusAt], ['Retry-After', retryAfter], noStore] as const
      return { status: acceptedStatus, headers, body: new Uint8Array() }
    }
    case 'answered': {
      const { answer, replayed, expiresAt } = outcome
      const expires = expiresAt === undefined || isMinted ? [] : [expiry(expiresAt)]
      if (whole !== undefined) return { ...whole, headers: [...whole.headers, ...expires] }
      if (answer.kind === 'withheld') return withheldReply(answer, route)
      if (!replayed) return { ...answer, headers: [...withoutCaching(answer.headers), ...expires, noStore] }
      return after(route.replay(answer, request), (stored) => {
        const { status, headers, body } = sendable(stored)
        return { status, headers: [...withoutCaching(headers), ...route.profile.replayed, ...expires, noStore], body }
      })
    }
  }
}

/** Many requests of one moment have the same. */
let lastExpiry: { readonly second: number; readonly line: readonly [string, string] } | undefined

function expiry(expiresAt: number): readonly [string, string] {
  const second = Math.floor(expiresAt / 1_000)
  if (lastExpiry?.second !== second) {
    lastExpiry = { second, line: ['Idempotency-Key-Expires', new Date(expiresAt).toUTCString()] }
  }
  return lastExpiry.line
}

const noStore = ['Cache-Control', 'no-store'] as const

/** A route may keep it, but what was meant for the first caller's cache is not meant for a replay. */
function withoutCaching(headers: Reply['headers']): Reply['headers'] {
  return headers.filter(([name]) => name.toLowerCase() !== 'cache-control')
}

/** The retry learns that it ran, how it was answered, and where to look for what it made. */
function withheldReply<Request>({ status, headers }: StoredAnswer, { profile }: Route<Request>): Reply {
  const told =
    status === 0 ? 'what it answered cannot be written down' : `was answered with ${status}, too long to be kept`
  const message = `The request ran, and ${told}. Do not send it again under a new key.`
  const problem = problemReply(new HapaxError('answer_withheld', message), profile)
  const place = headers.filter(([name]) => name.toLowerCase() === 'location')
  return { ...problem, headers: [...problem.headers, ...place] }
}

function handlerFailed(error: unknown): HapaxError {
  return isHapaxError(error) ? error : new HapaxError('handler_failed', undefined, { cause: error })
}
