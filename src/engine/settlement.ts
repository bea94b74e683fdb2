import type { CallMark } from './call-store.js'
import type { Evidence, StoredAnswer } from './record.js'

/** What ends a claim or a doubt, or puts a look at it off. */

export interface Completion {
  readonly answer: StoredAnswer
  readonly answerVersion: number
}

export interface Settlement {
  readonly generation: number
  /** The last claim, as whoever asked has seen it: what was found out about one attempt says nothing of a later one. */
  readonly fence?: number
  readonly evidence: Evidence
  /** The call that the evidence is about. */
  readonly call?: CallMark
  readonly outcome:
    | ({ readonly kind: 'completed' } & Completion)
    | { readonly kind: 'landed'; readonly recoveryPoint: string; readonly progress?: Uint8Array }
    | { readonly kind: 'not_landed'; readonly progress?: Uint8Array }
}

/** When something that waits is looked at next, and how often it was looked at in vain. */
export interface Plan {
  readonly generation: number
  /** The last claim, as whoever looked has seen it. */
  readonly fence?: number
  /** The state, as whoever looked has seen it: evidence may have ended a doubt since, and what may go on is not put off. */
  readonly state?: 'unknown' | 'failed_retryable'
  /** When it was due, as whoever looked has seen it: what was said since has made it due anew, and that is not put off. */
  readonly dueAt?: number | undefined
  readonly looks: number
  /** `undefined` leaves it to a person. */
  readonly afterMs: number | undefined
  /** Why, where that is another reason than the record has. */
  readonly errorCode?: string | undefined
}
