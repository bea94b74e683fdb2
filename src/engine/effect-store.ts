import type { OnLeaseOver } from './record.js'
import type { Scope } from './scope.js'

/**
 * The port to the outbox: external side effects as rows, written with the business data and carried out by workers.
 * Like a record, an effect is held by a lease under a fence, and every write checks it in the same step.
 *
 * `ready → leased → done | ready (a retry) | unknown | dead`. A dead one is redriven to `ready` or discarded by a person;
 * an unknown one is resolved by evidence. Effects that share an order run one after another, in the order of their ids:
 * one that is not final holds up those behind it.
 */
export const effectStates = ['ready', 'leased', 'done', 'unknown', 'dead', 'discarded'] as const

export type EffectState = (typeof effectStates)[number]

/** An effect as a phase writes it. */
export interface NewEffect {
  readonly kind: string
  /** What the worker is given: bytes that only the engine reads. */
  readonly payload: Uint8Array
  /** What the provider is sent as its idempotency key, on every attempt. */
  readonly downstreamKey: string
  readonly phase: string
  /** From 1, within its phase. */
  readonly sequence: number
  /** Effects of one scope with the same order run one after another. */
  readonly order: string | undefined
  readonly dueInMs: number
}

/** The right to write one effect. */
export interface EffectClaim {
  readonly id: number
  readonly fence: number
}

export interface StoredEffect extends EffectClaim {
  readonly scope: Scope
  /** The record it was written with, which may be gone by now. */
  readonly recordId: number
  readonly operation: string
  readonly generation: number
  readonly kind: string
  readonly payload: Uint8Array
  readonly downstreamKey: string
  readonly phase: string
  readonly sequence: number
  readonly order: string | undefined
  readonly state: EffectState
  /** While `ready`: when it may be carried out. */
  readonly dueAt: number
  readonly leaseUntil: number | undefined
  readonly onLeaseOver: OnLeaseOver
  /** Claims so far, and how many of them were settled: one that ends its worker is started again and again, and never finished. */
  readonly started: number
  readonly finished: number
  /** When it was claimed for the first time: the provider cannot have seen its key before. */
  readonly firstStartedAt: number | undefined
  readonly providerId: string | undefined
  /** What the provider answered, once that is durable. An effect that has one is never called again. */
  readonly result: Uint8Array | undefined
  readonly errorCode: string | undefined
  /** While `unknown`: since when, how often it was looked at, and when it is looked at next; never means by a person. */
  readonly doubtedAt: number | undefined
  readonly looks: number
  readonly reconcileAfter: number | undefined
  readonly createdAt: number
  readonly finishedAt: number | undefined
}

/** What the provider said. */
export interface EffectResult {
  readonly providerId: string | undefined
  readonly result: Uint8Array
}

/** How a claim on an effect ends. */
export type EffectOutcome =
  | ({ readonly kind: 'done' } & EffectResult)
  | { readonly kind: 'retry'; readonly dueInMs: number; readonly errorCode: string }
  | { readonly kind: 'unknown'; readonly reconcileAfterMs: number | undefined; readonly errorCode: string }
  | { readonly kind: 'dead'; readonly errorCode: string }
  /** Given back before its call began: as if it had not been claimed, but due only in `dueInMs` where that is said. */
  | { readonly kind: 'release'; readonly dueInMs?: number }

export interface EffectSettlement {
  readonly claim: EffectClaim
  readonly outcome: EffectOutcome
}

/** What ends a doubt about an effect. */
export type EffectEvidence = ({ readonly kind: 'landed' } & EffectResult) | { readonly kind: 'not_landed' }

export interface EffectQuery {
  readonly state?: EffectState
  readonly kind?: string
  /** Only those of this record, by its id. */
  readonly record?: number
  /** Only those in the scopes of this tenant, as a scope has it: they come by their scopes, and each scope's by their ids. */
  readonly tenant?: string
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: string
}

export interface EffectPage {
  readonly effects: readonly StoredEffect[]
  readonly next: string | undefined
}

/** When a doubt about an effect is looked at next, and how often it was. */
export interface EffectPlan {
  readonly looks: number
  /** `undefined` leaves it to a person. */
  readonly afterMs: number | undefined
  /** When whoever looked found it to be due: if that has changed since, it stays as it is. */
  readonly dueAt?: number | undefined
}

/** Every method is one atomic step on the store's own clock. Limits are lowered as in the store port. */
export interface EffectStore<Tx> {
  /**
   * Leases up to `limit` effects of these kinds that are ready and due, or whose lease is over and that may run again
   * (`onLeaseOver: 'resume'`): fence + 1, started + 1, `onLeaseOver: 'resume'`. Those that were due first come first, and none
   * comes whose order has an earlier one that is not final. Whoever claims at the same time gets others. With `ids`, only
   * those of them, and whether they are due or not.
   */
  claim(query: {
    readonly kinds: readonly string[]
    readonly ids?: readonly number[]
    readonly limit: number
    readonly leaseMs: number
  }): Promise<readonly StoredEffect[]>
  /** Says that the call begins: if the lease runs out from here, nobody knows. Renews the lease. */
  begin(claim: EffectClaim, leaseMs: number): Promise<boolean>
  renew(claims: readonly EffectClaim[], leaseMs: number): Promise<readonly boolean[]>
  /** Keeps what the provider said, before anything follows from it. From here on the effect may run again: it is not called. */
  record(claim: EffectClaim, result: EffectResult): Promise<boolean>
  /**
   * `false` for each whose fence is stale. A settlement that is repeated because its reply was lost answers `true`. The last
   * claim may still say that a doubt is done which nobody has resolved. What has begun is not given back.
   */
  settle(settlements: readonly EffectSettlement[]): Promise<readonly boolean[]>
  /** Runs `body` in a transaction and settles the effect as done in the same commit. A stale fence throws `claim_lost`. */
  apply(claim: EffectClaim, result: EffectResult, body: (tx: Tx) => Promise<void>): Promise<void>

  /** Turns up to `limit` effects whose lease is over, and whose call had begun, into doubt. */
  sweep(limit: number): Promise<readonly StoredEffect[]>
  /** Up to `limit` doubts whose time has come, put off by `holdMs`, so that no other node looks at them meanwhile. */
  doubts(query: {
    readonly kinds: readonly string[]
    readonly limit: number
    readonly holdMs: number
  }): Promise<readonly StoredEffect[]>
  /**
   * Says when an unknown effect is looked at next, and how often it was; `undefined` leaves it to a person. `seen` is the
   * claim that whoever looked has seen: `false` when it was claimed again since, or is not due at `dueAt` any more, where that
   * is given: somebody has said something about it meanwhile, and it is to be looked at for that.
   */
  postpone(seen: EffectClaim, plan: EffectPlan): Promise<boolean>
  /**
   * Ends a doubt by evidence. Landed: `ready`, with its result, so that a worker goes on without a call. Not landed: `ready`,
   * and its provider has not seen its key: `firstStartedAt` is counted anew, unless the last claim has recorded a result,
   * which outweighs it. `false` when it is not unknown, or was claimed
   * again since: what was found out about one attempt says nothing of a later one.
   */
  resolve(seen: EffectClaim, evidence: EffectEvidence): Promise<boolean>

  find(id: number): Promise<StoredEffect | undefined>
  findByKey(downstreamKey: string): Promise<StoredEffect | undefined>
  list(query: EffectQuery): Promise<EffectPage>
  /** Pages through those that were done from `since` on, in milliseconds on the store's clock, in the order in which they were. */
  done(query: { readonly since: number; readonly limit: number; readonly after?: string }): Promise<EffectPage>
  /** Those of up to `limits.page` downstream keys that are effects of ours, in any order. */
  named(downstreamKeys: readonly string[]): Promise<readonly StoredEffect[]>
  /**
   * Makes dead effects ready again, with the same downstream key and their attempts counted anew. Gives those that it changed.
   * With `'anew'`, `firstStartedAt` is counted anew as well: somebody took it upon himself that a provider forgot the key.
   */
  redrive(ids: readonly number[], keyMemory?: 'anew'): Promise<readonly StoredEffect[]>
  /** Ends dead effects for good. Gives those that it changed. */
  discard(ids: readonly number[]): Promise<readonly StoredEffect[]>
  /**
   * Deletes up to `limit` effects that have been done or discarded for longer than `keepMs`, with what was said about them.
   * Others go with their record.
   */
  reap(limit: number, keepMs: number): Promise<number>
}

/** No worker touches these again. */
export function isFinal(state: EffectState): boolean {
  return state === 'done' || state === 'discarded'
}
