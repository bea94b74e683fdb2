import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { IdempotencyKey } from './key.js'
import type { Scope } from './scope.js'
import type { State } from './state.js'

/** What a record is found by. */
export interface RecordName {
  readonly scope: Scope
  readonly key: IdempotencyKey
}

/**
 * The right to write one record. Both the fence and the claim id are checked in every write: the fence because a
 * later holder has a higher one, the claim id because a released record starts its fences anew.
 */
export interface Claim extends RecordName {
  readonly generation: number
  readonly fence: number
  readonly claimId: string
}

/** What the handler said, byte for byte. A header may occur more than once, so they are pairs. */
export interface Answer {
  readonly status: number
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  readonly body: Uint8Array
}

/** What is kept of an answer: all of it, or, when it was over the size limit, that it was given. */
export type StoredAnswer =
  | (Answer & { readonly kind: 'kept' })
  | { readonly kind: 'withheld'; readonly status: number; readonly headers: Answer['headers']; readonly bytes: number }

/** What is true of a claim whose lease runs out: the interrupted phase may run again, or nobody can know what it did. */
export type OnLeaseOver = 'resume' | 'doubt'

/** Who said something about an unknown outcome, and on what grounds. */
export interface Evidence {
  /** `reconciler`, `webhook:airtm`, `operator:…`. */
  readonly by: string
  readonly why: string
}

/** Evidence as it is kept with the record: with what it said and when it came. */
export interface KeptEvidence extends Evidence {
  readonly says: 'landed' | 'not_landed' | 'completed'
  readonly at: number
  /** The doubt that it ended, for whoever asks later what had happened. Absent in what an older release wrote. */
  readonly doubt?: EndedDoubt
}

/** A doubt as it stood when evidence ended it. */
export interface EndedDoubt {
  readonly errorCode: string
  /** Since when. */
  readonly at: number
  /** The claim that was in doubt. */
  readonly fence: number
  /** How often it was looked at in vain. */
  readonly looks: number
}

/** The stored row for (scope, key). Times are milliseconds on the store's clock. */
export interface StoredRecord extends Claim {
  /** Stays the same for all generations; rows of the application may refer to it. */
  readonly id: number
  readonly state: State
  readonly operation: string
  readonly fingerprint: Fingerprint
  /** Claims so far in this generation. */
  readonly attempt: number
  /** While `in_progress`: when the claim's lease ends. */
  readonly leaseUntil: number | undefined
  readonly onLeaseOver: OnLeaseOver
  /** The last phase that committed: `started` … `finished`. */
  readonly recoveryPoint: string
  /** What the phases so far returned, for the engine to read on resume. */
  readonly progress: Uint8Array | undefined
  /** A call to the outside was begun, and how it ended is not on record. */
  readonly isBegun: boolean
  /** It was written with effects: it does not expire before they are final, which only the reaper looks at. */
  readonly hasEffects: boolean
  readonly answer: StoredAnswer | undefined
  /** The version of the answer's shape, for the upgrade hook. */
  readonly answerVersion: number | undefined
  readonly errorCode: string | undefined
  /** While `unknown`: when the reconciler looks at it next; while `failed_retryable`: the resumer. Without it a person does. */
  readonly reconcileAfter: number | undefined
  /** How often it was looked at in vain. */
  readonly looks: number
  /** While `unknown`: since when. */
  readonly doubtedAt: number | undefined
  readonly evidence: readonly KeptEvidence[]
  /** The `traceparent` of its last run, which made its answer if it has one; `undefined` where that was not traced. */
  readonly trace: string | undefined
  readonly createdAt: number
  readonly lastRunAt: number
  readonly completedAt: number | undefined
  /** Past this instant the key is free again. `undefined` is for ever. */
  readonly expiresAt: number | undefined
  readonly retentionMs: number | undefined
  readonly tombstoneMs: number
}

/** The first recovery point, before any phase committed, and the last one. */
export const started = 'started'
export const finished = 'finished'
