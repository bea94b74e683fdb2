import { type Awaitable, failed, isPromise, promised } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { looksGuessable } from '../kernel/guessable.js'
import { personalShape } from '../kernel/personal.js'
import { nowhere } from '../kernel/roster.js'
import type { Task } from './background.js'
import { type Context, subjectOf } from './context.js'
import { finish, inProgressStill, type Run, tellLost } from './finishing.js'
import type { Guarded } from './guarded.js'
import { HeldWork } from './held-work.js'
import { type Holder, Lease } from './lease.js'
import type { Outcome } from './outcome.js'
import type { Policy } from './policy.js'
import type { Answer, Claim, StoredRecord } from './record.js'
import { reservedEvent } from './usual-events.js'
import type { Judged } from './verdict.js'

/** What a request won: a claim, and the record under it. */
export type Won = Extract<Judged, { readonly claim: Claim }>

/**
 * Runs the handler of a claim and makes its ending durable, in this order: the lease is kept while the handler
 * runs; what happened decides the ending; the ending is written under the fence; only then is anything said.
 *
 * The caller going away changes none of this. A store that fails after the handler acted is tried again in the
 * background until `maxRun`, and the key is never released.
 *
 * `askedAt` is when the claim was asked for, on the monotonic clock. A reply that came late may speak of a lease that is
 * nearly over: it is renewed before anything runs.
 */
export function runClaimed<Tx>(
  context: Context<Tx>,
  guarded: Guarded<Tx>,
  won: Won,
  askedAt: number,
): Awaitable<Outcome> {
  const now = context.clock.elapsed()
  if (now - askedAt < guarded.policy.leaseMs / 3) return started(context, guarded, won, askedAt)
  return context.background
    .track(renewed(context, guarded.policy, won))
    .then((isHeld) => (isHeld ? started(context, guarded, won, now) : nothingRan('claim_lost', guarded.policy.leaseMs)))
}

function started<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, won: Won, askedAt: number): Awaitable<Outcome> {
  if (context.background.ended.isStopped) return givenBack(context, won, guarded.policy.leaseMs)
  tellStart(context, guarded, won)
  return new HeldRun(context, guarded, won, askedAt).outcome()
}

function tellStart<Tx>({ events }: Context<Tx>, guarded: Guarded<Tx>, { kind, record }: Won): void {
  const { generation, attempt, fence, recoveryPoint } = record
  if (kind === 'resumed') {
    const by = guarded.resumedBy ?? 'request'
    events.emit('resumed', (detail) => ({ ...subjectOf(guarded, detail), attempt, fence, recoveryPoint, by }))
    return
  }
  events.emit('reserved', (detail) => reservedEvent(guarded, record, detail))
  tellPoorKey(events, guarded)
  if (generation > 1) events.emit('reused_after_expiry', () => ({ ...subjectOf(guarded), generation }))
}

/** What a client should not use as a key is told of once, when it is new. */
function tellPoorKey<Tx>(events: Emitter, guarded: Guarded<Tx>): void {
  const shape = events.hears('key_looks_personal') ? personalShape(guarded.key) : undefined
  if (shape !== undefined) events.emit('key_looks_personal', () => ({ ...subjectOf(guarded), shape }))
  if (events.hears('key_looks_guessable') && looksGuessable(guarded.key))
    events.emit('key_looks_guessable', () => subjectOf(guarded))
}

async function renewed<Tx>({ store, abandoned }: Context<Tx>, { leaseMs }: Policy, { claim }: Won): Promise<boolean> {
  try {
    return await store.renew(claim, leaseMs)
  } catch {
    abandoned.add({ ...claim, leaseMs })
    return false
  }
}

async function givenBack<Tx>({ store }: Context<Tx>, { claim }: Won, leaseMs: number): Promise<Outcome> {
  await store.release(claim).catch(() => undefined)
  return nothingRan('engine_closed', leaseMs)
}

function nothingRan(code: 'claim_lost' | 'engine_closed', retryAfterMs: number): Outcome {
  const message = 'Nothing ran for this request; send it again with the same key.'
  return { kind: 'refused', error: new HapaxError(code, message, { retryAfterMs }) }
}

/** One handler under its claim, and who waits for how it ends. */
class HeldRun<Tx> implements Run<Tx>, Task, Holder {
  readonly context: Context<Tx>
  readonly guarded: Guarded<Tx>
  readonly claim: Claim
  readonly lease: Lease
  readonly work: HeldWork<Tx>
  readonly attempt: number
  readonly record: StoredRecord
  place = nowhere
  #isOver = false
  /** Tells who waits, once somebody does. Only the first time counts. */
  #tell: (outcome: Awaitable<Outcome>) => void = nobody

  constructor(context: Context<Tx>, guarded: Guarded<Tx>, { claim, record }: Won, askedAt: number) {
    this.context = context
    this.guarded = guarded
    this.claim = claim
    this.lease = new Lease(claim, guarded.policy, askedAt, context, this)
    this.attempt = record.attempt
    this.record = record
    this.work = new HeldWork(this)
    context.background.enter(this)
  }

  /**
   * Calls the handler. The outcome is here when the ending is durable, or when the handler has run for longer than it may.
   * Where nothing had to be waited for, it is here at once.
   */
  outcome(): Awaitable<Outcome> {
    let outcome: Awaitable<Outcome>
    try {
      outcome = this.#finished()
    } catch (error) {
      this.#broken()
      throw error
    }
    // Who has to be waited for leaves when he is told.
    if (!isPromise(outcome)) this.#leave()
    return outcome
  }

  lost(): void {
    tellLost(this)
  }

  overran(): void {
    // What came of it may still be on its way to the store: nobody waits for that.
    if (this.#isOver) return
    this.context.events.emit('overran', () => subjectOf(this.guarded))
    this.#tell(inProgressStill(this.guarded.policy.leaseMs))
  }

  abandoned(): void {
    this.lease.end(new HapaxError('engine_closed'))
  }

  /** What is thrown here is a bug: neither the handler's errors nor the store's come this far. */
  #broken(): void {
    this.lease.stop()
    this.#leave()
  }

  #leave(): void {
    this.#isOver = true
    this.context.background.leave(this)
  }

  #finished(): Awaitable<Outcome> {
    // What an earlier attempt left behind is looked at before anything runs on top of it.
    const refused = this.attempt > 1 && this.record.progress !== undefined ? this.work.prepare() : undefined
    if (refused !== undefined) return this.#durable(finish(this, { kind: 'unresumable', error: refused }))
    let value: Awaitable<unknown>
    try {
      value = this.guarded.handler(this.work, this.work.storedInput)
    } catch (error) {
      return this.#durable(this.#threw(error))
    }
    if (!isPromise(value)) return this.#durable(this.#returned(value))
    const told = this.#told()
    promised(value).then(this.#tellReturned.bind(this), this.#tellThrew.bind(this))
    return told
  }

  #durable(outcome: Awaitable<Outcome>): Awaitable<Outcome> {
    if (!isPromise(outcome)) return outcome
    const told = this.#told()
    this.#tellWhenDurable(outcome)
    return told
  }

  /**
   * The one promise between the handler and who waits, and methods that are bound instead of closures: while a handler runs,
   * each promise in between, with the closures on it, would be most of what its request takes of memory.
   */
  #told(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.#tell = resolve
    })
  }

  #tellReturned(value: unknown): void {
    try {
      this.#tellWhenDurable(this.#returned(value))
    } catch (error) {
      this.#tellBroken(error)
    }
  }

  #tellThrew(thrown: unknown): void {
    try {
      this.#tellWhenDurable(this.#threw(thrown))
    } catch (error) {
      this.#tellBroken(error)
    }
  }

  #tellWhenDurable(outcome: Awaitable<Outcome>): void {
    if (isPromise(outcome)) outcome.then(this.#tellEnded.bind(this), this.#tellBroken.bind(this))
    else this.#tellEnded(outcome)
  }

  #tellEnded(outcome: Outcome): void {
    this.#leave()
    this.#tell(outcome)
  }

  #tellBroken(error: unknown): void {
    this.#broken()
    this.#tell(failed(error))
  }

  /**
   * Nothing may be made of an answer while a commit is under way that the handler did not wait for, nor after one that
   * failed, even if the handler caught its error: what was answered for rows that are not there is no answer.
   */
  #returned(value: unknown): Awaitable<Outcome> {
    const commits = this.work.commitFailure
    if (commits === undefined) return this.#answered(value)
    return commits.then((failure) => {
      this.#tellUnbegun()
      return failure === undefined ? this.#answered(value) : this.#failed(failure.reason)
    })
  }

  #answered(value: unknown): Awaitable<Outcome> {
    let answer: Awaitable<Answer>
    try {
      answer = this.guarded.toAnswer(value)
    } catch (error) {
      return finish(this, { kind: 'unwritable', error })
    }
    if (!isPromise(answer)) return finish(this, { kind: 'answered', answer })
    return answer.then(
      (answer) => finish(this, { kind: 'answered', answer }),
      (error: unknown) => finish(this, { kind: 'unwritable', error }),
    )
  }

  /** A handler that has not waited for it has not heard of it. */
  #tellUnbegun(): void {
    const { unbegun, commitState } = this.work
    if (unbegun === undefined || commitState.kind === 'committed') return
    const message = `a handler of policy "${this.guarded.policy.name}" asked for a commit that could not begin: ${unbegun.message}`
    this.context.log({ level: 'warn', code: 'commit_not_begun', message })
  }

  /** An error is told when nothing runs below it any more. */
  #threw(error: unknown): Awaitable<Outcome> {
    return this.work.commitFailure?.then(() => this.#failed(error)) ?? this.#failed(error)
  }

  #failed(error: unknown): Awaitable<Outcome> {
    const commit = this.work.commitState
    const isTurnedAway = commit.kind === 'turned_away' && commit.error === error
    return finish(this, isTurnedAway ? { kind: 'answered', answer: commit.answer } : { kind: 'threw', error })
  }
}

function nobody(): void {}
