import type { Testimony } from './inbox-store.js'
import { type StoredRecord, started } from './record.js'

/** What is written of a call to the outside together with its record. */
export type CallMark =
  | { readonly kind: 'begun'; readonly key: string; readonly phase: string }
  | { readonly kind: 'landed'; readonly key: string }
  | { readonly kind: 'not_landed'; readonly key: string }

/**
 * A key that a handler was given to make a call by itself: it may be sent from then on, and nobody tells whether it was. Its
 * phase is `started`, which is the name of no call.
 */
export function handedOut(key: string): CallMark {
  return { kind: 'begun', key, phase: started }
}

export function isHandedOut(call: CallMark | StoredCall): boolean {
  return 'phase' in call && call.phase === started
}

/** One call to the outside, found by the downstream key that it carried. It goes with its record, and not before. */
export interface StoredCall {
  /** For paging. */
  readonly id: number
  readonly key: string
  readonly scope: string
  readonly operation: string
  readonly generation: number
  readonly phase: string
  readonly state: CallMark['kind']
  readonly begunAt: number
}

/** What was said about a call, and when it came. */
export interface KeptTestimony extends Testimony {
  readonly at: number
}

/** The port to the calls that handlers made, and to what others said about them, in whatever state their record is. */
export interface CallStore {
  find(key: string): Promise<{ readonly call: StoredCall; readonly record: StoredRecord | undefined } | undefined>
  /** Pages in the order in which they began. */
  list(query: CallQuery): Promise<{ readonly calls: readonly StoredCall[]; readonly next: string | undefined }>
  /** Those of up to `limits.page` keys that are calls of ours, in any order. */
  named(keys: readonly string[]): Promise<readonly StoredCall[]>
  /**
   * Keeps what somebody said. In the same step a record or an effect that is in doubt about it is due for a look, even one that
   * was left to a person: whoever would act on it at once may be gone before.
   */
  testify(testimony: Testimony): Promise<void>
  /** What was said about these calls, oldest first. */
  testimonies(keys: readonly string[]): Promise<readonly KeptTestimony[]>
  /**
   * Looks at up to `limit` testimonies that are older than `keepMs`, and deletes those that name neither a call nor an effect
   * that is here. The others go with their record or effect, and are not looked at again.
   */
  reap(limit: number, keepMs: number): Promise<ReapedTestimonies>
}

/** Only calls that began from `since` on and before `until`, in milliseconds on the store's clock. */
export interface CallQuery {
  readonly since?: number
  readonly until?: number
  /** Only those of this record, by its id. */
  readonly record?: number
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: string
}

export interface ReapedTestimonies {
  readonly deleted: number
  /** Those that stay: what they are about is here. */
  readonly passed: number
}
