import { HapaxError } from '../kernel/errors.js'
import type { Guarded } from './guarded.js'
import type { Policy } from './policy.js'
import type { Answer, Claim, StoredAnswer, StoredRecord } from './record.js'
import type { Committed, Store } from './store.js'
import type { Work } from './work.js'

/** A Work, and what the engine has to know of it afterwards. */
export interface HeldWork<Tx> {
  readonly work: Work<Tx>
  /** The reason of the first doubt that the handler raised. */
  openDoubt(): string | undefined
  /** The answer that `commit` made durable. */
  committed(): Committed<Answer> | undefined
}

export function heldWork<Tx>(
  store: Store<Tx>,
  guarded: Guarded<Tx>,
  claim: Claim,
  record: Pick<StoredRecord, 'attempt' | 'recoveryPoint'>,
  signal: AbortSignal,
): HeldWork<Tx> {
  const { policy } = guarded
  let doubt: string | undefined
  let committed: Committed<Answer> | undefined

  async function commit<T>(body: (at: { readonly tx: Tx }) => Promise<T>): Promise<T> {
    if (committed !== undefined)
      throw new HapaxError('already_answered', 'work.commit was called twice; one request has one answer.')
    if (doubt !== undefined)
      throw new HapaxError(
        'outcome_unknown',
        `A doubt is open (${doubt}); it must be settled before anything is committed.`,
      )
    if (store.transaction === undefined) {
      throw new HapaxError(
        'transaction_unsupported',
        `The ${store.name} store has no transactions; return the answer instead of work.commit.`,
      )
    }
    const done = await store.transaction(claim, async (tx) => {
      const value = await body({ tx })
      const answer = guarded.toAnswer(value)
      const completion = { answer: keptAnswer(answer, policy), answerVersion: policy.answerVersion }
      return { value: { value, answer }, write: { kind: 'complete', ...completion } }
    })
    committed = { value: done.value.answer, expiresAt: done.expiresAt }
    return done.value.value
  }

  return {
    work: {
      generation: claim.generation,
      attempt: record.attempt,
      recoveryPoint: record.recoveryPoint,
      signal,
      doubt(reason) {
        doubt ??= reason.slice(0, 100)
      },
      commit,
    },
    openDoubt: () => doubt,
    committed: () => committed,
  }
}

/** What is kept of an answer: all of it, or, over the size limit, that it was given. */
export function keptAnswer(answer: Answer, policy: Policy): StoredAnswer {
  const bytes = answer.body.byteLength
  if (bytes <= policy.maxAnswerBytes) return { kind: 'kept', ...answer }
  return { kind: 'withheld', status: answer.status, headers: answer.headers, bytes }
}
