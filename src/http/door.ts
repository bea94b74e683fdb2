import type { Engine } from '../engine/engine.js'
import { type IdempotencyKey, keyOf } from '../engine/key.js'
import type { Outcome } from '../engine/outcome.js'
import type { StoredAnswer } from '../engine/record.js'
import { type Scope, scopeOf } from '../engine/scope.js'
import { emptyWork } from '../engine/unprotected.js'
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
import { acceptedStatus } from './statuses.js'
import { subjectOf } from './target.js'

/**
 * The one door. Every adapter hands its exchange in here, and sends what comes out, after it is durable: route, key,
 * scope, body, fingerprint, reservation, handler, answer.
 */
export async function handle<Tx, Request>(
  engine: Engine<Tx>,
  exchange: Exchange<Tx>,
  route: Route<Request>,
  request: Request,
): Promise<Handled<Tx>> {
  if (!route.methods.includes(exchange.method))
    return { kind: 'unguarded', work: emptyWork(new AbortController().signal, notGuarded) }
  const reply = await guarded(engine, exchange, route, request).catch((error: unknown) => {
    if (isHapaxError(error)) return problemReply(error, route.profile)
    throw error
  })
  return { kind: 'reply', reply: exposed(reply, exchange, route.profile) }
}

async function guarded<Tx, Request>(
  engine: Engine<Tx>,
  exchange: Exchange<Tx>,
  route: Route<Request>,
  request: Request,
): Promise<Reply> {
  const { policy, keepHeaders, authorizeReplay } = route
  const key = keyFor(exchange, route)
  const scope: Scope = scopeOf(await route.scope(request))
  const source = {
    subject: subjectOf(exchange),
    mediaType: exchange.lines('content-type')[0],
    body: await decoded(await exchange.body(route.bodyLimit), exchange.lines('content-encoding'), route.bodyLimit),
    header: (name: string) => joined(exchange.lines(name)),
  }
  // What the application said in full, by what is kept of it: a handler may commit one answer and return another.
  const said = new Map<Reply['headers'], Reply>()
  const outcome = await engine.execute({
    scope,
    key,
    policy,
    source,
    handler: (work) => exchange.run(work),
    async toAnswer(value) {
      const reply = reframed(sendable(await exchange.captured(value)))
      const headers = keptHeaders(reply.headers, keepHeaders)
      said.set(headers, reply)
      return { ...reply, headers }
    },
    ...(authorizeReplay && { authorizeReplay: (answer) => authorizeReplay(request, answer) }),
    errorToAnswer: (error) => problemReply(handlerFailed(error), route.profile),
  })
  return replyOf(outcome, route, request, said)
}

/** Lines of one name are one list. */
function joined(lines: readonly string[]): string | undefined {
  return lines.length === 0 ? undefined : lines.join(', ')
}

function notGuarded(): HapaxError {
  return new HapaxError('transaction_unsupported', 'This method is not guarded: there is no record to commit with.')
}

/** An optional route without a key is guarded by a key of its own, so that its handler holds a work all the same. */
function keyFor<Tx, Request>(exchange: Exchange<Tx>, { key, profile }: Route<Request>): IdempotencyKey {
  const lines = exchange.lines(profile.header)
  if (lines.length === 0 && key === 'optional') return keyOf(systemChance.id())
  return parseKeyHeader(lines, profile.key)
}

async function replyOf<Request>(
  outcome: Outcome,
  route: Route<Request>,
  request: Request,
  said: ReadonlyMap<Reply['headers'], Reply>,
): Promise<Reply> {
  switch (outcome.kind) {
    case 'refused':
      throw outcome.error
    case 'threw':
      throw outcome.error
    case 'accepted': {
      const retryAfter = String(Math.max(1, Math.ceil(outcome.retryAfterMs / 1_000)))
      const headers = [['Location', route.statusAt], ['Retry-After', retryAfter], noStore] as const
      return { status: acceptedStatus, headers, body: new Uint8Array() }
    }
    case 'answered': {
      const { answer, replayed, expiresAt } = outcome
      const expires =
        expiresAt === undefined ? [] : [['Idempotency-Key-Expires', new Date(expiresAt).toUTCString()] as const]
      const whole = said.get(answer.headers)
      if (whole !== undefined) return { ...whole, headers: [...whole.headers, ...expires] }
      if (answer.kind === 'withheld') return withheldReply(answer, route)
      const { status, headers, body } = sendable(replayed ? await route.replay(answer, request) : answer)
      const marks = replayed ? route.profile.replayed : []
      return { status, headers: [...withoutCaching(headers), ...marks, ...expires, noStore], body }
    }
  }
}

const noStore = ['Cache-Control', 'no-store'] as const

/** A route may keep it, but what was meant for the first caller's cache is not meant for a replay. */
function withoutCaching(headers: Reply['headers']): Reply['headers'] {
  return headers.filter(([name]) => name.toLowerCase() !== 'cache-control')
}

/** The retry learns that it ran, how it was answered, and where to look for what it made. */
function withheldReply<Request>({ status, headers }: StoredAnswer, { profile }: Route<Request>): Reply {
  const message = `The request ran and was answered with ${status}, but the answer could not be kept: it was too large, or could not be written down. Do not send it again under a new key.`
  const problem = problemReply(new HapaxError('answer_withheld', message), profile)
  const place = headers.filter(([name]) => name.toLowerCase() === 'location')
  return { ...problem, headers: [...problem.headers, ...place] }
}

function handlerFailed(error: unknown): HapaxError {
  return isHapaxError(error) ? error : new HapaxError('handler_failed', undefined, { cause: error })
}
