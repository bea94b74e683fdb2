import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Claim, OnLeaseOver, RecordName, StoredAnswer, StoredRecord } from './record.js'

/** What a request asks of the store. It names no time: the store's clock is the only one. */
export interface Reservation extends RecordName {
  /** Made by the caller, so that a reservation whose reply was lost is recognised as one's own. */
  readonly claimId: string
  readonly operation: string
  /** The first is what a new record is given; a record that holds any of them is the same request. */
  readonly fingerprints: readonly [Fingerprint, ...Fingerprint[]]
  readonly leaseMs: number
  /** `undefined` keeps the record for ever. */
  readonly retentionMs: number | undefined
  readonly tombstoneMs: number
  readonly onLeaseOver: OnLeaseOver
  readonly onExpired: 'run' | 'refuse'
  /** What a new record begins with, such as the input of an operation, for the engine to read on resume. */
  readonly progress?: Uint8Array | undefined
  /** The `traceparent` of the run that this asks for, kept with the record. */
  readonly trace?: string | undefined
  /** What becomes of a key that is new, or new again: it is taken, or the verdict tells that it is and nothing changes. */
  readonly onNew: 'take' | 'tell'
}

/** What the store answers to a reservation: closed, switched once. */
export type Verdict =
  | Judged
  /** The record's fingerprint was made by another recipe: compare under that one and reserve again. */
  | { readonly kind: 'incomparable'; readonly recipe: string; readonly operation: string }
  /** The key could be taken as new, and the reservation wanted to be told so first. */
  | { readonly kind: 'new' }

/** What is left once the fingerprints could be compared and whoever is new was let in. */
export type Judged =
  /** The key is new, or new again after expiry (`generation` above 1): run. */
  | { readonly kind: 'reserved'; readonly claim: Claim; readonly record: StoredRecord }
  /** An earlier claim left something that may go on: run, from the record's recovery point. */
  | { readonly kind: 'resumed'; readonly claim: Claim; readonly record: StoredRecord }
  | {
      readonly kind: 'completed'
      readonly answer: StoredAnswer
      readonly record: StoredRecord
      /** How much of its retention is left; `undefined` for ever. */
      readonly expiresInMs: number | undefined
    }
  | { readonly kind: 'in_progress'; readonly leaseLeftMs: number }
  | {
      readonly kind: 'unknown'
      readonly reconcileInMs: number
      /** This very request has found the claim whose lease was over, and made it a doubt, as a sweeper would have. */
      readonly swept?: true
    }
  /** The key belongs to another request. Says nothing about that one. */
  | { readonly kind: 'mismatched' }
  /** Past retention, and the policy refuses to run it anew. */
  | { readonly kind: 'expired'; readonly generation: number }
