import type { Engine } from '../engine/engine.js'
import type { FingerprintSource } from '../engine/fingerprint/source.js'
import type { Guarded } from '../engine/guarded.js'
import { type IdempotencyKey, keyOf } from '../engine/key.js'
import { type Operation, operationAnswer } from '../engine/operation.js'
import type { Answered, Outcome } from '../engine/outcome.js'
import { jsonText } from '../engine/plain.js'
import type { Policy } from '../engine/policy.js'
import type { Answer } from '../engine/record.js'
import { type Scope, type ScopeParts, scopeOf } from '../engine/scope.js'
import { emptyWork } from '../engine/unprotected.js'
import type { Work } from '../engine/work.js'
import { type Awaitable, after, attempted, isPromise, promised } from '../kernel/awaitable.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { wordsOf } from '../kernel/log.js'
import { Stopping } from '../kernel/stopping.js'
import { decoded } from './content-encoding.js'
import type { Exchange, Handled, Reply } from './exchange.js'
import { exposed } from './exposed.js'
import { parseKeyHeader } from './header.js'
import { type Captured, captured, handlerFailed } from './kept-answer.js'
import { notAllowed } from './not-allowed.js'
import { problemReply } from './problem.js'
import { acceptedReply, storedReply, wholeReply, withheldReply } from './replies.js'
import { RequestSource } from './request-source.js'
import type { Route } from './route.js'
import { sendable } from './sendable.js'
import { isOurs } from './statuses.js'
import { inTurn } from './turn.js'

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
  if (route.methods.includes(exchange.method)) return new Passage(engine, exchange, route, request).handled()
  // There is no handler to go on to.
  if (route.bound !== undefined) return { kind: 'reply', reply: notAllowed(route.methods) }
  return { kind: 'unguarded', work: emptyWork(new Stopping(), notGuarded) }
}

/**
 * One request on its way through the door and back, as the engine sees it. One object with all that is known of it: of
 * closures for each step, and of objects that are spread together, every request would pay for more than the steps.
 */
class Passage<Tx, Request> implements Guarded<Tx> {
  readonly policy: Policy
  scope!: Scope
  key!: IdempotencyKey
  minted: true | undefined
  /** Of the operation, as JSON. */
  input: string | undefined
  source!: FingerprintSource
  readonly #engine: Engine<Tx>
  readonly #exchange: Exchange<Tx>
  readonly #route: Route<Request>
  readonly #request: Request
  /** What the application said: a handler may commit one answer and return another. */
  #said: Captured[] | undefined

  constructor(engine: Engine<Tx>, exchange: Exchange<Tx>, route: Route<Request>, request: Request) {
    this.policy = route.policy
    this.minted = undefined
    this.input = undefined
    this.#engine = engine
    this.#exchange = exchange
    this.#route = route
    this.#request = request
  }

  handled(): Awaitable<Handled<Tx>> {
    let body: Awaitable<Uint8Array>
    try {
      body = this.#entered()
    } catch (error) {
      return this.#told(error)
    }
    if (!isPromise(body)) return this.#gathered(body)
    return body.then(
      (body) => this.#gathered(body),
      (error: unknown) => this.#told(error),
    )
  }

  /** A request without a key is guarded by one of its own, so that its handler holds a work all the same. */
  #entered(): Awaitable<Uint8Array> {
    const key = keyIn(this.#exchange, this.#route)
    if (key === undefined) this.minted = true
    this.key = key ?? keyOf(this.#engine.chance.id())
    const parts = this.#route.scope(this.#request)
    return isPromise(parts) ? promised(parts).then((parts) => this.#scoped(parts)) : this.#scoped(parts)
  }

  #scoped(parts: string | ScopeParts): Awaitable<Uint8Array> {
    this.scope = scopeOf(parts)
    const body = this.#exchange.body(this.#route.bodyLimit)
    return isPromise(body) ? body.then((body) => this.#decoded(body)) : this.#decoded(body)
  }

  #decoded(body: Uint8Array): Awaitable<Uint8Array> {
    return decoded(body, this.#exchange.lines('content-encoding'), this.#route.bodyLimit)
  }

  #gathered(body: Uint8Array): Awaitable<Handled<Tx>> {
    this.source = new RequestSource(this.#exchange, body)
    if (this.#route.bound === undefined) return this.#inTurn()
    return attempted(
      () =>
        after(inputOf(this.#route, this.#request, body), (input) => {
          this.input = jsonText(input ?? null, 'input')
          return this.#inTurn()
        }),
      (error) => this.#told(error),
    )
  }

  #inTurn(): Awaitable<Handled<Tx>> {
    return this.#exchange.comesInTurns ? inTurn(() => this.#executed()) : this.#executed()
  }

  #executed(): Awaitable<Handled<Tx>> {
    let outcome: Awaitable<Outcome>
    try {
      outcome = this.#engine.execute(this)
    } catch (error) {
      return this.#told(error)
    }
    if (!isPromise(outcome)) return this.#ended(outcome)
    // Bound, since two closures and what they see would be kept for as long as the handler runs.
    return outcome.then(this.#ended.bind(this), this.#told.bind(this))
  }

  handler(work: Work<Tx>, stored: string | undefined): Awaitable<unknown> {
    const { bound } = this.#route
    if (bound === undefined) return this.#exchange.run(work)
    const { handler } = bound.operation as unknown as Operation<Tx, unknown>
    return handler(work, JSON.parse(stored ?? this.input ?? 'null'))
  }

  toAnswer(value: unknown): Awaitable<Answer> {
    if (this.#route.bound !== undefined) return this.#captured(operationAnswer(value))
    const reply = this.#exchange.captured(value)
    return isPromise(reply) ? reply.then((reply) => this.#captured(reply)) : this.#captured(reply)
  }

  #captured(given: Reply): Answer {
    const said = captured(given, this.#route.keepHeaders)
    this.#said ??= []
    this.#said.push(said)
    return said.answer
  }

  errorToAnswer(error: unknown): Answer {
    const message = `"${this.policy.name}" threw ${wordsOf(error)}`
    this.#engine.log({ level: 'error', code: 'handler_failed', message })
    return problemReply(handlerFailed(error), this.#route.profile)
  }

  get authorizeReplay(): Guarded<Tx>['authorizeReplay'] {
    const { authorizeReplay } = this.#route
    return authorizeReplay && ((answer) => authorizeReplay(this.#request, answer))
  }

  get replays(): Guarded<Tx>['replays'] {
    return this.#route.replays
  }

  #ended(outcome: Outcome): Awaitable<Handled<Tx>> {
    switch (outcome.kind) {
      case 'threw':
        return this.#threw(outcome.error)
      case 'refused':
        return this.#told(outcome.error)
      case 'accepted':
        return this.#reply(acceptedReply(outcome.retryAfterMs, this.#route.statusAt))
      case 'answered':
        return this.#answered(outcome)
    }
  }

  /**
   * An error out of a handler is the application's, one of ours too: a key that it complains about is not the key of this
   * request. Only what says that a retry helps, and does not blame the caller, is for us to say: a store that failed below
   * the handler, a transaction that took too long.
   */
  #threw(error: unknown): Handled<Tx> {
    if (isHapaxError(error) && error.retryable && error.fault !== 'caller') return this.#told(error)
    throw error
  }

  #answered({ answer, replayed, expiresAt }: Answered): Awaitable<Handled<Tx>> {
    // Nobody sent a key that was minted, so nobody is told how long it lives.
    const until = this.minted ? undefined : expiresAt
    const whole = this.#said?.find((said) => said.answer.headers === answer.headers)?.reply
    if (whole !== undefined) return this.#reply(wholeReply(whole, until))
    if (answer.kind === 'withheld') return this.#reply(withheldReply(answer, this.#route.profile))
    return replayed ? this.#replayed(answer, until) : this.#reply(storedReply(answer, [], until))
  }

  #replayed(answer: Answer, until: number | undefined): Awaitable<Handled<Tx>> {
    const { replay, profile } = this.#route
    const marked = (stored: Reply) => this.#reply(storedReply(sendable(stored), profile.replayed, until))
    return attempted(
      () => after(replay(answer, this.#request), marked),
      (error) => this.#told(error),
    )
  }

  /** An error of ours as a reply. What the client is not told, the log is. */
  #told(error: unknown): Handled<Tx> {
    if (!isHapaxError(error)) throw error
    const reply = problemReply(error, this.#route.profile)
    if (isOurs(reply.status)) {
      const message = `a request to "${this.policy.name}" got ${reply.status}: ${wordsOf(error)}`
      this.#engine.log({ level: 'error', code: error.code, message })
    }
    return this.#reply(reply)
  }

  #reply(reply: Reply): Handled<Tx> {
    return { kind: 'reply', reply: exposed(reply, this.#exchange, this.#route.profile) }
  }
}

function notGuarded(): HapaxError {
  return new HapaxError(
    'transaction_unsupported',
    'This method is not guarded: there is no record to commit with, and no scope.',
  )
}

/** What the operation is given, by the route's own function, or the body as it is. */
function inputOf<Request>({ bound }: Route<Request>, request: Request, body: Uint8Array): Awaitable<unknown> {
  if (bound?.input !== undefined) return bound.input(request)
  if (body.byteLength === 0) return null
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown
  } catch (cause) {
    throw new HapaxError('body_not_canonical', 'Send a body that is JSON in UTF-8.', { cause })
  }
}

/** The key that came; `undefined` where none came and none has to. */
function keyIn<Tx, Request>(exchange: Exchange<Tx>, { key, profile }: Route<Request>): IdempotencyKey | undefined {
  const lines = exchange.lines(profile.header)
  return lines.length === 0 && key === 'optional' ? undefined : parseKeyHeader(lines, profile.key)
}
