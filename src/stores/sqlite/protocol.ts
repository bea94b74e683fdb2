import type { Claim } from '../../engine/record.js'
import type { Completed, Step, Store } from '../../engine/store.js'
import type { Fault } from './faults.js'
import type { MigrateOnOpen } from './schema.js'
import type { SqliteResult, SqliteStatement } from './statement.js'

/** What the store and its thread say to each other. */

/** The steps of the port that one batch may hold. Their types come from the port, so that they cannot differ. */
export type StepName =
  | 'reserve'
  | 'renew'
  | 'checkpoint'
  | 'complete'
  | 'release'
  | 'fail'
  | 'doubt'
  | 'settle'
  | 'sweep'
  | 'interrupted'
  | 'doubts'
  | 'postpone'
  | 'reap'
  | 'find'
  | 'list'
  | 'usage'

export type StepArguments<K extends StepName> = Parameters<Store[K]>
export type StepResult<K extends StepName> = Awaited<ReturnType<Store[K]>>

/** The port as functions that run inside a transaction, without waiting. */
export type Steps = { readonly [K in StepName]: (...args: StepArguments<K>) => StepResult<K> }

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
  /** All operations in one transaction; one that fails does not keep the others from happening. */
  batch(operations: readonly Operation[]): readonly Outcome[]
  /** One statement of the application on its own. */
  query(statement: SqliteStatement): SqliteResult
  begin(): void
  /** One statement of the application in the transaction begun. */
  run(statement: SqliteStatement): SqliteResult
  /** The fenced write, then COMMIT. `false` when the claim is stale: then all of it is rolled back. */
  commit(claim: Claim, write: Step<unknown>['write']): false | Completed
  /** Harmless when nothing is begun. */
  rollback(): void
  close(): void
}

export type ServiceName = keyof Services

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
