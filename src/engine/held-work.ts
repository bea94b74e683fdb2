import type { Awaitable } from '../kernel/awaitable.js'
import { passing } from '../kernel/crash-points.js'
import { parseDuration } from '../kernel/duration.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { call } from './calling.js'
import type { CollectedEffects } from './collected-effects.js'
import { childKey } from './downstream-key.js'
import { endingOf, type Unsound } from './evidence.js'
import { errorCodeOf } from './name.js'
import { type Ground, Phases } from './phases.js'
import type { Policy } from './policy.js'
import { type Answer, finished, type StoredAnswer, started } from './record.js'
import type { Scope } from './scope.js'
import type { Committed } from './store.js'
import { phaseOf, transactional } from './transactional.js'
import type { Phase, Work } from './work.js'

export type CommitState =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'committed'
      readonly answer: Answer
      readonly expiresAt: number | undefined
      /** When it was asked for, on the monotonic clock. */
      readonly askedAt: number
    }
  /** What the handler wanted to commit is no answer by the evidence rule: the rows were rolled back. */
  | { readonly kind: 'turned_away'; readonly answer: Answer; readonly error: HapaxError }
  /** The store failed at the commit itself: only the record can say whether it happened. */
  | { readonly kind: 'unsure' }

/** A Work, and what the engine has to know of it afterwards. Every request makes one, so it is one object. */
export class HeldWork<Tx> implements Work<Tx> {
  readonly #ground: Ground<Tx>
  #phases: Phases<Tx> | undefined
  #doubt: string | undefined
  #state: CommitState = noCommit
  #commits: Promise<unknown>[] | undefined
  #isCommitting = false
  #failure: CommitFailure | undefined
  #unbegun: HapaxError | undefined

  constructor(ground: Ground<Tx>) {
    this.#ground = ground
  }

  get scope(): Scope {
    return this.#ground.claim.scope
  }

  get generation(): number {
    return this.#ground.claim.generation
  }

  get attempt(): number {
    return this.#ground.record.attempt
  }

  get recoveryPoint(): string {
    return this.#phases?.recoveryPoint ?? this.#ground.record.recoveryPoint
  }

  /** Why the run may not end as its handler says. */
  get unsound(): Unsound | undefined {
    if (this.#doubt !== undefined) return { kind: 'doubt', errorCode: this.#doubt }
    return this.#phases?.unsound
  }

  /** What an answer may not pass over: a phase that is on record, and that the handler has not come by, or one under way. */
  get missed(): Unsound | undefined {
    if (this.#phases === undefined && this.#ground.record.progress === undefined) return undefined
    const phases = this.#prepared()
    if (phases.isOpen) return { kind: 'doubt', errorCode: 'answered_during_phase' }
    return phases.missed === undefined ? undefined : { kind: 'doubt', errorCode: 'recovery_point_unknown' }
  }

  /** What a call that is open makes of an error that the handler threw; `undefined` when none is. */
  get openCall(): Unsound['kind'] | undefined {
    // What is on record of earlier attempts was looked at before the handler ran.
    return this.#phases?.openCall
  }

  /** Whether a reconciler asks the provider about the call that is open. It does so of operations only. */
  get isLookedUp(): boolean {
    const progress = this.#phases?.progress
    return progress?.call?.canLookUp === true && progress.input !== undefined
  }

  /** Whether anything has begun, in this attempt or before, that a release would forget. */
  get isUsed(): boolean {
    const { recoveryPoint, isBegun } = this.#ground.record
    return this.#phases?.isUsed === true || recoveryPoint !== started || isBegun
  }

  /** What became of `commit`. */
  get commitState(): CommitState {
    return this.#state
  }

  /**
   * Why the first commit that was begun and failed has failed, once all have ended; `undefined` when none was asked for.
   * Looked at by the engine, when the handler is over.
   */
  get commitFailure(): Promise<CommitFailure | undefined> | undefined {
    return this.#commits && this.#settled(this.#commits)
  }

  /** What asked for a commit that could not begin was told; `undefined` when all have begun. */
  get unbegun(): HapaxError | undefined {
    return this.#unbegun
  }

  /**
   * Looks at what earlier attempts left behind, before the handler runs. Gives the error that keeps it from running: with
   * what cannot be read here a later attempt may go on, what another version has written is doubt.
   */
  prepare(): HapaxError | undefined {
    try {
      this.#prepared()
      return undefined
    } catch (error) {
      if (!isHapaxError(error)) throw error
      if (isHapaxError(error, 'recovery_point_unknown')) this.#doubt = error.code
      return error
    }
  }

  /** The input that an operation began with, as it was stored. */
  get storedInput(): string | undefined {
    return this.#phases?.progress.input
  }

  get signal(): AbortSignal {
    return this.#ground.lease.stopping.signal
  }

  // Each as a value of its own: handlers take a work apart.

  get doubt(): Work<Tx>['doubt'] {
    return (code) => {
      if (this.#state.kind === 'committed') {
        throw new HapaxError('already_answered', 'The answer is durable already; raise a doubt before work.commit.')
      }
      this.#doubt ??= errorCodeOf(code)
    }
  }

  get transaction(): Work<Tx>['transaction'] {
    return async (name, body) => this.#sound().transaction(name, body)
  }

  get call(): Work<Tx>['call'] {
    return async (name, options) => call(this.#sound(), name, options)
  }

  get effect(): Work<Tx>['effect'] {
    return (kind, payload, options) => this.#prepared().effect(kind, payload, options)
  }

  get downstreamKey(): Work<Tx>['downstreamKey'] {
    return async (name) => this.#sound().handOut(name)
  }

  get childKey(): Work<Tx>['childKey'] {
    return (name) => childKey(this.#ground.claim, name)
  }

  get extend(): Work<Tx>['extend'] {
    return async (retention) =>
      this.#sound().extend(
        retention === 'forever' ? retention : parseDuration(retention, 'the retention of work.extend'),
      )
  }

  get commit(): Work<Tx>['commit'] {
    return (body) => {
      const commit = this.#commit(body)
      this.#commits ??= []
      this.#commits.push(commit)
      // Whoever called commit hears of its failure, and the engine does, when the handler is over.
      commit.catch(() => {})
      return commit
    }
  }

  async #commit<T>(body: (at: Phase<Tx>) => Awaitable<T>): Promise<T> {
    const phases = this.#toCommit()
    const { context, guarded, claim } = this.#ground
    const { policy } = guarded
    const effects = this.#entered(phases)
    this.#isCommitting = true
    const askedAt = context.clock.elapsed()
    let answer: Answer | undefined
    let done: Committed<T>
    try {
      done = await transactional(context.wholeStore).transaction(claim, async (tx) => {
        const value = await body(phaseOf(tx, effects))
        const asked = effects.end()
        const doubt = inDoubt(this.#doubt)
        if (doubt !== undefined) throw doubt
        const said = await guarded.toAnswer(value)
        if (endingOf({ kind: 'answered', answer: said }, undefined, guarded).kind !== 'complete') {
          const error = new HapaxError(
            'handler_failed',
            `Status ${said.status} is not for good; nothing was committed.`,
          )
          this.#state = { kind: 'turned_away', answer: said, error }
          throw error
        }
        answer = said
        passing('commit.open')
        const completion = { answer: keptAnswer(said, policy), answerVersion: policy.answerVersion }
        return { value, write: { kind: 'complete', ...completion }, effects: asked }
      })
    } catch (reason) {
      this.#failure ??= { reason }
      if (answer === undefined) phases.undone(finished)
      else if (!isHapaxError(reason, 'claim_lost')) this.#state = { kind: 'unsure' }
      throw reason
    } finally {
      this.#isCommitting = false
      effects.end()
      phases.leave()
    }
    passing('commit.committed')
    if (answer !== undefined) this.#state = { kind: 'committed', answer, expiresAt: done.expiresAt, askedAt }
    this.#failure = undefined
    phases.tellEffects(effects.end())
    return done.value
  }

  /** One that meets another phase under way, or phases of other code, has failed. */
  #entered(phases: Phases<Tx>): CollectedEffects {
    try {
      return phases.enterCommit()
    } catch (reason) {
      this.#failure ??= { reason }
      throw reason
    }
  }

  /** What a commit that may begin goes by. */
  #toCommit(): Phases<Tx> {
    this.#unbegun = this.#cannotBegin()
    if (this.#unbegun !== undefined) throw this.#unbegun
    return this.#prepared()
  }

  #cannotBegin(): HapaxError | undefined {
    if (this.#state.kind !== 'none' || this.#isCommitting)
      return new HapaxError('already_answered', 'Call work.commit once: one request has one answer.')
    const doubt = inDoubt(this.#doubt)
    if (doubt !== undefined) return doubt
    try {
      transactional(this.#ground.context.wholeStore)
      this.#prepared().refuseUnsound()
      return undefined
    } catch (error) {
      if (isHapaxError(error)) return error
      throw error
    }
  }

  #prepared(): Phases<Tx> {
    this.#phases ??= new Phases(this.#ground)
    return this.#phases
  }

  /** Nothing is begun once there is an answer, or a doubt. */
  #sound(): Phases<Tx> {
    if (this.#state.kind !== 'none')
      throw new HapaxError('already_answered', 'No phase comes after work.commit: the answer is given.')
    const doubt = inDoubt(this.#doubt)
    if (doubt !== undefined) throw doubt
    return this.#prepared()
  }

  /** A commit may be begun when another has failed. */
  async #settled(commits: readonly Promise<unknown>[]): Promise<CommitFailure | undefined> {
    for (let seen = 0; seen < commits.length; ) {
      seen = commits.length
      await Promise.allSettled(commits)
    }
    return this.#failure
  }
}

const noCommit: CommitState = { kind: 'none' }

/** That a commit failed, and why. */
export interface CommitFailure {
  readonly reason: unknown
}

/** What is kept of an answer: all of it, or, over the size limit, that it was given. */
export function keptAnswer(answer: Answer, policy: Policy): StoredAnswer {
  const bytes = answer.body.byteLength
  if (bytes <= policy.maxAnswerBytes) return kept(answer)
  return { kind: 'withheld', status: answer.status, headers: answer.headers, bytes }
}

/** Written out: a spread costs more, and every answer comes by here. */
export function kept({ status, headers, body }: Answer): StoredAnswer {
  return { kind: 'kept', status, headers, body }
}

function inDoubt(doubt: string | undefined): HapaxError | undefined {
  if (doubt === undefined) return undefined
  return new HapaxError(
    'outcome_unknown',
    `A doubt is open (${doubt}); it must be settled before anything is committed.`,
  )
}
