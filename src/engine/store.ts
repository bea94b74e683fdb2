import type { Awaitable } from '../kernel/awaitable.js'
import type { AuditStore } from './audit-store.js'
import type { CallMark, CallStore } from './call-store.js'
import type { EffectStore, NewEffect } from './effect-store.js'
import type { Finding } from './finding.js'
import type { InboxStore } from './inbox-store.js'
import type { Measured } from './measured.js'
import type { Claim, OnLeaseOver, RecordName, StoredRecord } from './record.js'
import type { Completion, Plan, Settlement } from './settlement.js'
import type { State } from './state.js'
import type { Reservation, Verdict } from './verdict.js'

export type { Completion, Plan, Settlement } from './settlement.js'

/**
 * The port between the engine and a database. It speaks of records and knows neither HTTP nor payments.
 *
 * Every method is one atomic step on the store's own clock. Every method that takes a claim checks its fence and
 * claim id in the same step and answers `false` once the claim is stale, having changed nothing. A write that the
 * same claim repeats, because its reply was lost, answers as the first time (only a repeated `release` finds
 * nothing left to release).
 *
 * The two steps that every request takes, `reserve` and `complete`, may answer at once where nothing has to be waited for.
 *
 * A method throws only when the database failed: always a HapaxError, and then the caller does not know whether
 * the step happened. A limit is a whole number from 1, anything else is a bug of the caller; above `limits.batch` or
 * `limits.page` it is lowered to that. A store shares no memory with its callers: what it was given and what it gave
 * may be overwritten once the step is done.
 */
export interface Store<Tx = never> {
  readonly name: string
  readonly grade: Grade

  /** Opens the database and refuses to start on a schema this release does not know. Calling it again is harmless. */
  open(): Promise<void>
  /** Lets what is under way finish, then lets go of the database. */
  close(): Promise<void>

  /** Takes the key, or says what it holds. Only a verdict `reserved` or `resumed` has changed who may write. */
  reserve(reservation: Reservation): Awaitable<Verdict>
  /** Moves the end of the lease to `leaseMs` from now. */
  renew(claim: Claim, leaseMs: number): Promise<boolean>
  /** Records that a phase committed, and what is true if the lease runs out from here. Renews the lease. */
  checkpoint(claim: Claim, checkpoint: Checkpoint): Promise<boolean>
  /** Makes the answer durable. The last claim may still complete a doubt that nobody has settled. */
  complete(claim: Claim, completion: Completion): Awaitable<false | Completed>
  /** Gives the key back as it was before this claim. Only for what was refused before anything ran. */
  release(claim: Claim): Promise<boolean>
  /** Lets the next request run again, from the recovery point. */
  fail(claim: Claim, failure: Failure): Promise<boolean>
  /** Says that nobody can know what happened. */
  doubt(claim: Claim, doubt: Doubt): Promise<boolean>

  /** Ends a doubt by evidence. `false` when the record is not `unknown`, or has been claimed again since. */
  settle(name: RecordName, settlement: Settlement): Promise<boolean>

  /** Turns up to `limit` claims whose lease is over, and that may not run again, into doubt. */
  sweep(limit: number): Promise<readonly StoredRecord[]>
  /**
   * Turns up to `limit` records that are past their retention, half-done, and gone on with by nobody into doubts that are left
   * to a person, those first whose retention ended first. Nobody goes on with a claim whose lease is over and that may run
   * again, nor with a failure whose time has come, unless its operation is one of `operations`; and with a failure that says
   * no time at all, whatever its operation. Who said that it failed can complete it no more.
   */
  abandon(query: WaitingQuery): Promise<readonly StoredRecord[]>
  /**
   * Up to `limit` records of these operations that may go on and that nobody holds: those whose lease is over and that may
   * run again, and failed ones whose time has come. Changes nothing: who goes on with one reserves it.
   */
  interrupted(query: WaitingQuery): Promise<readonly StoredRecord[]>
  /** Up to `limit` doubts of these operations whose time has come, put off by `holdMs`, so that no other node looks at them meanwhile. */
  doubts(query: WaitingQuery & { readonly holdMs: number }): Promise<readonly StoredRecord[]>
  /** Says when a record that nobody holds is looked at next. `false` when it is held, or over, or not as it was seen. */
  postpone(name: RecordName, plan: Plan): Promise<boolean>
  /**
   * Buries up to `limit` records past retention and deletes up to `limit` tombstones that stood their time. With a tombstone,
   * in the same step, goes all that hangs on its record: calls, effects, and what was said about either. Its downstream keys
   * are free from then on, and whoever uses the key anew meets nothing of its first time. None is deleted while an effect of
   * it is not final.
   */
  reap(limit: number): Promise<Reaped>

  find(name: RecordName): Promise<StoredRecord | undefined>
  /**
   * Pages in a stable order: a record that exists throughout appears once. The order is that of first use; among all scopes of
   * a tenant those of each scope stand together, keys that begin alike are in the order of their characters, and what is in
   * progress in that of its leases, of which a renewed one moves on and may be met again.
   *
   * A page looks at `limits.looked` records at most, however few of them fit: it may hold fewer than `limit`, or none, and
   * still have a `next`.
   */
  list(query: ListQuery): Promise<Page>
  /**
   * What a tenant takes up now, in all of its scopes: the scope that is `tenant`, and every scope that begins with it
   * and a semicolon. Whatever has not expired counts. Looks for no more than `atMost` keys (lowered to
   * `limits.countedKeys`): if there are as many, `keys` is that number and `bytes` is what those take.
   */
  usage(tenant: string, atMost: number): Promise<Usage>
  /** The tenants that have records, each once, in pages. */
  tenants(query: TenantQuery): Promise<TenantPage>

  /**
   * Runs `body` in a transaction of the database, then the write it asks for, fenced, as the last statement before
   * COMMIT. A claim that is stale, or has completed before, throws `claim_lost` and the business rows roll back with it.
   */
  readonly transaction?: <T>(claim: Claim, body: (tx: Tx) => Promise<Step<T>>) => Promise<Committed<T>>

  /**
   * One request as one transaction: takes the key's lock without waiting for it, or for a bounded time, judges the
   * reservation, and where it may run, runs `body` and writes the completed record before COMMIT. No claim is ever visible
   * to others, and whatever fails leaves nothing. `joins` is a transaction that the caller opened, and will end himself.
   */
  readonly single?: <T>(
    reservation: Reservation,
    body: (at: SingleAttempt<Tx>) => Promise<SingleStep<T>>,
    joins?: unknown,
  ) => Promise<SingleOutcome<T>>
  /** The calls of handlers, and what was said about them. */
  readonly calls?: CallStore
  /** The outbox. */
  readonly effects?: EffectStore<Tx>
  readonly inbox?: InboxStore<Tx>
  /** What people did. */
  readonly audit?: AuditStore

  /**
   * What there is of each kind, for gauges: counts no more than `atMost` of it (lowered to `telemetryBounds.countedRows`),
   * always along an index, and changes nothing. A store that cannot say is watched without it.
   */
  readonly measure?: (atMost: number) => Promise<Measured>
  /**
   * What a reaping without a limit would do now, for who decides whether to have one. Counts as `measure` does, and changes
   * nothing.
   */
  readonly reapable?: (atMost: number) => Promise<Reaped>
  /** Looks at the database for whatever a promise depends on, and changes nothing. */
  readonly examine?: () => Promise<readonly Finding[]>
}

/** A store that asks a database, and so never answers at once. */
export interface DatabaseStore<Tx> extends Store<Tx> {
  reserve(reservation: Reservation): Promise<Verdict>
  complete(claim: Claim, completion: Completion): Promise<false | Completed>
  readonly transaction: NonNullable<Store<Tx>['transaction']>
}

/** What a store promises: all together in one commit, one record at a time, or nothing across a failover. */
export type Grade = 'transactional' | 'atomic' | 'best-effort'

export interface Checkpoint {
  readonly recoveryPoint: string
  readonly onLeaseOver: OnLeaseOver
  readonly leaseMs: number
  readonly progress?: Uint8Array
  /** A call to the outside that begins or ends here. */
  readonly call?: CallMark | undefined
  /** Another retention than the record was given; `'forever'` keeps it for ever. */
  readonly retentionMs?: number | 'forever'
}

export interface Completed {
  readonly expiresAt: number | undefined
}

export interface Failure {
  readonly errorCode: string
  /** When it may be resumed without its client; without it, never. */
  readonly resumeAfterMs?: number
}

export interface Doubt {
  readonly errorCode: string
  readonly reconcileAfterMs: number
}

/** What a transaction hands back, and the write of the record that commits with it. */
export interface Step<T> {
  readonly value: T
  readonly write: ({ readonly kind: 'checkpoint' } & Checkpoint) | ({ readonly kind: 'complete' } & Completion)
  /** Written in the same commit, where the store has an outbox. */
  readonly effects?: readonly NewEffect[]
}

export interface Committed<T> {
  readonly value: T
  /** When the record expires, as of this commit. */
  readonly expiresAt: number | undefined
}

/**
 * What `single` gives its body: the claim is nobody's to see, and the record is as it would be with it. A new record may have
 * no id before it is written, and then that is 0.
 */
export interface SingleAttempt<Tx> {
  readonly tx: Tx
  readonly claim: Claim
  readonly record: StoredRecord
}

/** How the one transaction of a request ends: with its rows, or with its answer alone, the rows undone. */
export interface SingleStep<T> {
  readonly value: T
  readonly rows: 'keep' | 'undo'
  readonly completion: Completion
  readonly effects?: readonly NewEffect[]
}

export type SingleOutcome<T> =
  | ({ readonly kind: 'committed' } & Committed<T>)
  | { readonly kind: 'judged'; readonly verdict: Exclude<Verdict, { readonly claim: Claim }> }

export interface WaitingQuery {
  readonly operations: readonly string[]
  readonly limit: number
}

export interface Reaped {
  readonly buried: number
  readonly deleted: number
}

export interface TenantQuery {
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: string
}

export interface TenantPage {
  /** As their scopes have them. */
  readonly tenants: readonly string[]
  readonly next: string | undefined
}

export interface Usage {
  /** Keys that are not free again: neither tombstones nor past their retention. */
  readonly keys: number
  /** What the bodies of their answers take. An answer that was withheld takes nothing. */
  readonly bytes: number
}

/** Records that fit all of what is said. */
export interface ListQuery {
  readonly scope?: RecordName['scope']
  /** In all scopes of this tenant, as `usage` has it. */
  readonly tenant?: string
  readonly state?: State
  readonly operation?: string
  readonly key?: { readonly is: string } | { readonly startsWith: string }
  /** The status of the answer. */
  readonly status?: number
  /** The `Location` of the answer, as it was given. */
  readonly resource?: string
  /** When this generation began: from then on, and before then, on the store's clock. */
  readonly since?: number
  readonly until?: number
  /** Default `'oldest'`. */
  readonly order?: 'oldest' | 'newest'
  readonly limit: number
  /** The `next` of the page before, of the same query. */
  readonly after?: string
}

export interface Page {
  readonly records: readonly StoredRecord[]
  /** `undefined` on the last page. */
  readonly next: string | undefined
}
