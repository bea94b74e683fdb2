import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { endingOf } from './evidence.js'
import type { Guarded } from './guarded.js'
import type { Lease } from './lease.js'
import { errorCodeOf } from './name.js'
import type { Policy } from './policy.js'
import type { Answer, Claim, StoredAnswer, StoredRecord } from './record.js'
import type { Committed, Store } from './store.js'
import type { Work } from './work.js'

/** A Work, and what the engine has to know of it afterwards. */
export interface HeldWork<Tx> {
  readonly work: Work<Tx>
  /** The reason of the first doubt that the handler raised. */
  openDoubt(): string | undefined
  /** What became of `commit`. */
  commit(): CommitState
}

export type CommitState =
  | { readonly kind: 'none' }
  | { readonly kind: 'committed'; readonly answer: Answer; readonly expiresAt: number | undefined }
  /** What the handler wanted to commit is no answer by the evidence rule: the rows were rolled back. */
  | { readonly kind: 'turned_away'; readonly answer: Answer; readonly error: HapaxError }
  /** The store failed at the commit itself: only the record can say whether it happened. */
  | { readonly kind: 'unsure' }

export function heldWork<Tx>(
  store: Store<Tx>,
  guarded: Guarded<Tx>,
  claim: Claim,
  record: Pick<StoredRecord, 'attempt' | 'recoveryPoint'>,
  lease: Pick<Lease, 'signal'>,
): HeldWork<Tx> {
  let doubt: string | undefined
  let state: CommitState = { kind: 'none' }

  async function commit<T>(body: (at: { readonly tx: Tx }) => Promise<T>): Promise<T> {
    if (state.kind !== 'none')
      throw new HapaxError('already_answered', 'Call work.commit once: one request has one answer.')
    refuseInDoubt(doubt)
    if (store.transaction === undefined) throw withoutTransactions(store)
    let answer: Answer | undefined
    let done: Committed<T>
    try {
      done = await store.transaction(claim, async (tx) => {
        const value = await body({ tx })
        refuseInDoubt(doubt)
        const said = await guarded.toAnswer(value)
        if (endingOf({ kind: 'answered', answer: said }, undefined, guarded).kind !== 'complete') {
          const error = new HapaxError(
            'handler_failed',
            `Status ${said.status} is not for good; nothing was committed.`,
          )
          state = { kind: 'turned_away', answer: said, error }
          throw error
        }
        answer = said
        const completion = { answer: keptAnswer(said, guarded.policy), answerVersion: guarded.policy.answerVersion }
        return { value, write: { kind: 'complete', ...completion } }
      })
    } catch (error) {
      if (answer !== undefined && !isHapaxError(error, 'claim_lost')) state = { kind: 'unsure' }
      throw error
    }
    if (answer !== undefined) state = { kind: 'committed', answer, expiresAt: done.expiresAt }
    return done.value
  }

  return {
    work: {
      generation: claim.generation,
      attempt: record.attempt,
      recoveryPoint: record.recoveryPoint,
      get signal() {
        return lease.signal
      },
      doubt(reason) {
        if (state.kind === 'committed') {
          throw new HapaxError('already_answered', 'The answer is durable already; raise a doubt before work.commit.')
        }
        doubt ??= errorCodeOf(reason)
      },
      commit,
    },
    openDoubt: () => doubt,
    commit: () => state,
  }
}

/** What is kept of an answer: all of it, or, over the size limit, that it was given. */
export function keptAnswer(answer: Answer, policy: Policy): StoredAnswer {
  const bytes = answer.body.byteLength
  if (bytes <= policy.maxAnswerBytes) return { kind: 'kept', ...answer }
  return { kind: 'withheld', status: answer.status, headers: answer.headers, bytes }
}

function refuseInDoubt(doubt: string | undefined): void {
  if (doubt === undefined) return
  throw new HapaxError(
    'outcome_unknown',
    `A doubt is open (${doubt}); it must be settled before anything is committed.`,
  )
}

function withoutTransactions<Tx>({ name }: Store<Tx>): HapaxError {
  const message = `The ${name} store has no transactions; return the answer instead of calling work.commit.`
  return new HapaxError('transaction_unsupported', message)
}
