import type { EffectClaim, EffectEvidence } from './effect-store.js'
import type { Testimony } from './inbox-store.js'
import type { RecordName } from './record.js'
import type { Plan, Settlement } from './settlement.js'

/**
 * The port to the audit log: whatever a person did to records and effects, with who did it and why, and how it was before
 * and after. Nothing is ever changed or taken out of it, and it outlives what it is about.
 *
 * A deed and its entries are one commit, so that nobody finds the one without the other. Each entry holds the hash of the
 * one before it, and the head the hash of the last: one that was edited, taken out or put elsewhere is found by `verified`.
 */
export interface AuditStore {
  /** Does it and writes it down, or says why not, having changed nothing. Writers take turns, within a bound. */
  act(deed: Deed, by: Actor): Promise<Acted>
  /** Pages, oldest first unless asked otherwise. */
  list(query: AuditQuery): Promise<AuditPage>
  /** Where the chain ends. */
  head(): Promise<AuditHead>
}

/** Who does something, and why. */
export interface Actor {
  /** `operator:ann`. */
  readonly who: string
  readonly why: string
}

/** What a person can do. */
export type Deed = RecordDeed | EffectDeed | ResolveDeed | LookDeed | NotedDeed

export type RecordDeed =
  /** Ends a doubt by evidence. Said before `notBefore`, on the store's clock, it is refused: a slow holder may still act. */
  | {
      readonly kind: 'settle'
      readonly name: RecordName
      readonly settlement: Settlement
      readonly notBefore?: number
      readonly supplied?: Supplied | undefined
    }
  /** Takes an answer away: the key is free, and the next request runs. */
  | { readonly kind: 'purge'; readonly name: RecordName; readonly generation: number }
  /** Has a doubt looked at next. */
  | { readonly kind: 'reconcile'; readonly name: RecordName; readonly plan: Plan }

export type EffectDeed =
  | { readonly kind: 'redrive'; readonly ids: readonly number[]; readonly keyMemory?: 'anew' }
  | { readonly kind: 'discard'; readonly ids: readonly number[] }

/** Ends the doubt about an effect by evidence, which is kept with it. Said before `notBefore`, it is refused as with records. */
export interface ResolveDeed {
  readonly kind: 'resolve'
  readonly claim: EffectClaim
  readonly evidence: EffectEvidence
  readonly said: Testimony
  readonly notBefore?: number
  readonly supplied?: Supplied | undefined
}

/** What a person gave with his word, as the log keeps it and shows it: by its hash. */
export interface Supplied {
  /** What the call returned, as JSON, or the body of the answer. */
  readonly what: 'result' | 'answer'
  readonly sha256: string
  readonly bytes: number
  /** Of the headers of an answer, as a JSON list of names and values. */
  readonly headers_sha256?: string
}

/** Has the doubt about an effect looked at now by whoever says so, and by nobody else for as long as he may take. */
export interface LookDeed {
  readonly kind: 'look'
  readonly claim: EffectClaim
  readonly holdMs: number
}

/** What changes nothing here, and is worth knowing: that all doubts were looked at now. */
export interface NotedDeed {
  readonly kind: 'note'
  readonly action: AuditAction
  readonly subject: string
}

/** The names of what is written down. */
export const auditActions = ['settle', 'purge', 'reconcile', 'redrive', 'discard'] as const

export type AuditAction = (typeof auditActions)[number]

/** One thing that somebody did. */
export interface AuditEntry extends Actor {
  /** From 1, without gaps. */
  readonly sequence: number
  /** On the store's clock. */
  readonly at: number
  readonly action: AuditAction
  /** Whose it was; empty where it was about all of them. */
  readonly scope: string
  /** `record:` and its digest, as in every event, or `effect:` and its id. */
  readonly subject: string
  /** How it was, and how it is, as JSON. */
  readonly before: string
  readonly after: string
  /** The hash of the entry before this one; empty for the first. */
  readonly previous: string
  readonly hash: string
}

export type Acted =
  | { readonly kind: 'done'; readonly entries: readonly AuditEntry[] }
  | { readonly kind: 'refused'; readonly why: Refusal; readonly state?: string; readonly retryAfterMs?: number }

export type Refusal =
  | 'absent'
  /** Not in the state that this is for. */
  | 'state'
  /** It was claimed, settled or used anew since whoever asks has seen it. */
  | 'changed'
  /** Somebody who was only slow may still act. */
  | 'too_early'
  /** It has effects that are not final. */
  | 'effects_open'

export interface AuditQuery {
  readonly subject?: string
  readonly order?: 'oldest' | 'newest'
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: string
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly next: string | undefined
}

export interface AuditHead {
  /** How many entries there are. */
  readonly sequence: number
  /** The hash of the last; empty where there is none. */
  readonly hash: string
}
