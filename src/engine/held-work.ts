import { HapaxError, invariant, isHapaxError } from '../kernel/errors.js'
import { endingOf } from './evidence.js'
import type { Guarded } from './guarded.js'
import type { Lease } from './lease.js'
import { errorCodeOf } from './name.js'
import type { Policy } from './policy.js'
import type { Answer, Claim, StoredAnswer, StoredRecord } from './record.js'
import type { Committed, Store } from './store.js'
import type { Work } from './work.js'

export type CommitState =
  | { readonly kind: 'none' }
  | { readonly kind: 'committed'; readonly answer: Answer; readonly expiresAt: number | undefined }
  /** What the handler wanted to commit is no answer by the evidence rule: the rows were rolled back. */
  | { readonly kind: 'turned_away'; readonly answer: Answer; readonly error: HapaxError }
  /** The store failed at the commit itself: only the record can say whether it happened. */
  | { readonly kind: 'unsure' }

/** A Work, and what the engine has to know of it afterwards. Every request makes one, so it is one object. */
export class HeldWork<Tx> implements Work<Tx> {
  readonly generation: number
  readonly attempt: number
  readonly recoveryPoint: string
  readonly #store: Store<Tx>
  readonly #guarded: Guarded<Tx>
  readonly #claim: Claim
  readonly #lease: Pick<Lease, 'signal'>
  #doubt: string | undefined
  #state: CommitState = noCommit
  #commits: Promise<unknown>[] | undefined
  #isCommitting = false
  #failure: CommitFailure | undefined
  #unbegun: HapaxError | undefined

  constructor(
    store: Store<Tx>,
    guarded: Guarded<Tx>,
    claim: Claim,
    { attempt, recoveryPoint }: Pick<StoredRecord, 'attempt' | 'recoveryPoint'>,
    lease: Pick<Lease, 'signal'>,
  ) {
    this.generation = claim.generation
    this.attempt = attempt
    this.recoveryPoint = recoveryPoint
    this.#store = store
    this.#guarded = guarded
    this.#claim = claim
    this.#lease = lease
  }

  /** The reason of the first doubt that the handler raised. */
  get openDoubt(): string | undefined {
    return this.#doubt
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

  get signal(): AbortSignal {
    return this.#lease.signal
  }

  /** As a value of its own: handlers take it apart. */
  get doubt(): Work<Tx>['doubt'] {
    return (code) => {
      if (this.#state.kind === 'committed') {
        throw new HapaxError('already_answered', 'The answer is durable already; raise a doubt before work.commit.')
      }
      this.#doubt ??= errorCodeOf(code)
    }
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

  async #commit<T>(body: (at: { readonly tx: Tx }) => Promise<T>): Promise<T> {
    const store = this.#store
    const { policy } = this.#guarded
    this.#unbegun = this.#cannotBegin()
    if (this.#unbegun !== undefined) throw this.#unbegun
    invariant(store.transaction, 'a commit that begins has a transaction')
    this.#isCommitting = true
    let answer: Answer | undefined
    let done: Committed<T>
    try {
      done = await store.transaction(this.#claim, async (tx) => {
        const value = await body({ tx })
        const doubt = inDoubt(this.#doubt)
        if (doubt !== undefined) throw doubt
        const said = await this.#guarded.toAnswer(value)
        if (endingOf({ kind: 'answered', answer: said }, undefined, this.#guarded).kind !== 'complete') {
          const error = new HapaxError(
            'handler_failed',
            `Status ${said.status} is not for good; nothing was committed.`,
          )
          this.#state = { kind: 'turned_away', answer: said, error }
          throw error
        }
        answer = said
        const completion = { answer: keptAnswer(said, policy), answerVersion: policy.answerVersion }
        return { value, write: { kind: 'complete', ...completion } }
      })
    } catch (reason) {
      this.#failure ??= { reason }
      this.#isCommitting = false
      if (answer !== undefined && !isHapaxError(reason, 'claim_lost')) this.#state = { kind: 'unsure' }
      throw reason
    }
    if (answer !== undefined) this.#state = { kind: 'committed', answer, expiresAt: done.expiresAt }
    this.#failure = undefined
    return done.value
  }

  #cannotBegin(): HapaxError | undefined {
    if (this.#state.kind !== 'none' || this.#isCommitting)
      return new HapaxError('already_answered', 'Call work.commit once: one request has one answer.')
    return (
      inDoubt(this.#doubt) ?? (this.#store.transaction === undefined ? withoutTransactions(this.#store) : undefined)
    )
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

function withoutTransactions<Tx>({ name }: Store<Tx>): HapaxError {
  const message = `The ${name} store has no transactions; return the answer instead of calling work.commit.`
  return new HapaxError('transaction_unsupported', message)
}
