import type { AuditStore } from '../../engine/audit-store.js'
import type { CallStore } from '../../engine/call-store.js'
import type { EffectClaim, EffectResult, EffectStore, NewEffect } from '../../engine/effect-store.js'
import type { Finding } from '../../engine/finding.js'
import type { InboxStore, ReceivedEvent, Testimony } from '../../engine/inbox-store.js'
import type { Claim } from '../../engine/record.js'
import type { Completed, Completion, SingleStep, Step, Store } from '../../engine/store.js'
import type { Reservation, Verdict } from '../../engine/verdict.js'
import type { Fault } from './faults.js'
import type { MigrateOnOpen } from './schema.js'
import type { SqliteResult, SqliteStatement } from './statement.js'

/** What the store and its thread say to each other. */

/** The steps of the port that one batch may hold. Their types come from the port, so that they cannot differ. */
type Port = RecordPort & EffectPort & CallPort & InboxPort & AuditPort

type RecordPort = Pick<
  Store,
  | 'reserve'
  | 'renew'
  | 'checkpoint'
  | 'complete'
  | 'release'
  | 'fail'
  | 'doubt'
  | 'settle'
  | 'sweep'
  | 'abandon'
  | 'interrupted'
  | 'doubts'
  | 'postpone'
  | 'reap'
  | 'find'
  | 'list'
  | 'usage'
  | 'tenants'
> & { readonly [K in 'measure' | 'reapable']: NonNullable<Store[K]> }

type EffectPort = Within<'effects', Omit<EffectStore<never>, 'apply'>>
type CallPort = Within<'calls', CallStore>
type InboxPort = Within<'inbox', Omit<InboxStore<never>, 'receive'>>
type AuditPort = Within<'audit', AuditStore>
type Within<Part extends string, Of> = { readonly [K in keyof Of & string as `${Part}.${K}`]: Of[K] }

export type StepName = keyof Port
export type StepArguments<K extends StepName> = Parameters<Port[K]>
export type StepResult<K extends StepName> = Awaited<ReturnType<Port[K]>>

/** The port as functions that run inside a transaction, without waiting. */
export type Steps = StepsOf<StepName>
export type RecordSteps = StepsOf<keyof RecordPort>
export type EffectSteps = StepsOf<keyof EffectPort>
export type CallSteps = StepsOf<keyof CallPort>
export type InboxSteps = StepsOf<keyof InboxPort>
export type AuditSteps = StepsOf<keyof AuditPort>
type StepsOf<N extends StepName> = { readonly [K in N]: (...args: StepArguments<K>) => StepResult<K> }

export type Operation<K extends StepName = StepName> = {
  [N in K]: { readonly name: N; readonly args: StepArguments<N> }
}[K]

/** How one operation of a batch ended. */
export type Outcome =
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly fault: Fault }

/** What the thread can be asked for. */
export interface Services {
  open(): void
  examine(): readonly Finding[]
  /** All operations in one transaction; one that fails does not keep the others from happening. */
  batch(operations: readonly Operation[]): readonly Outcome[]
  /** One statement of the application on its own. */
  query(statement: SqliteStatement): SqliteResult
  begin(): void
  /** One statement of the application in the transaction begun. */
  run(statement: SqliteStatement): SqliteResult
  /** The fenced write, then COMMIT. `false` when the claim is stale: then all of it is rolled back. */
  commit(claim: Claim, write: Step<unknown>['write'], effects: readonly NewEffect[]): false | Completed
  /** Settles the effect as done, then COMMIT. `false` when the claim is stale: then all of it is rolled back. */
  commitEffect(claim: EffectClaim, result: EffectResult): boolean
  /** `false` when the event is known. */
  insertEvent(event: ReceivedEvent): boolean
  /** Keeps what the event said, then COMMIT. */
  commitEvent(testimonies: readonly Testimony[]): void
  /** Reserves in the transaction begun. Whoever may not run is judged, and the transaction is over. */
  take(reservation: Reservation): Verdict
  /** The answer of what was taken, with its rows and effects or alone, then COMMIT. `false` is as for `commit`. */
  commitSingle(
    claim: Claim,
    rows: SingleStep<unknown>['rows'],
    completion: Completion,
    effects: readonly NewEffect[],
  ): false | Completed
  /** Harmless when nothing is begun. */
  rollback(): void
  close(): void
}

export type ServiceName = keyof Services

export type Ask = <K extends ServiceName>(
  service: K,
  ...args: Parameters<Services[K]>
) => Promise<ReturnType<Services[K]>>

export interface Request<K extends ServiceName = ServiceName> {
  readonly id: number
  readonly service: K
  readonly args: Parameters<Services[K]>
}

export type Reply = { readonly id: number } & Outcome

export interface ThreadSettings {
  readonly path: string
  readonly busyTimeoutMs: number
  readonly migrate: MigrateOnOpen
  /** Whether a file that does not exist may be created: only before it was opened once. */
  readonly missing: 'create' | 'refuse' | 'lost'
}
