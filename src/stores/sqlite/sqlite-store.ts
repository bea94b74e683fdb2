import type { Claim } from '../../engine/record.js'
import type { Committed, Step, Store } from '../../engine/store.js'
import { type Clock, systemClock } from '../../kernel/clock.js'
import { type Duration, parseDuration } from '../../kernel/duration.js'
import { HapaxError } from '../../kernel/errors.js'
import { defaults } from '../../kernel/limits.js'
import { sqliteBounds } from './bounds.js'
import { type Holding, holdTransaction } from './held-transaction.js'
import { type Lane, lane } from './lane.js'
import { sqlitePath } from './path.js'
import type { MigrateOnOpen, ServiceName, Services, StepArguments, StepName, ThreadSettings } from './protocol.js'
import type { SqliteResult, SqliteStatement, SqliteTransaction } from './statement.js'
import { cuts } from './testing-hooks.js'
import { startThread, type Thread } from './thread.js'

export interface SqliteStoreOptions {
  /** The database file. It is created when it does not exist; its directory is not. */
  readonly path: string
  /** How long to wait for the write lock while another process has it, before `store_busy`. Default `'2s'`. */
  readonly busyTimeout?: Duration
  /** How long a handler may hold a transaction. Default `'5s'`. */
  readonly transactionTimeout?: Duration
  /**
   * When opening may change the schema: of a `new-file` only (the default), of any file (`on-open`), or `never`.
   * Otherwise an outdated schema refuses to start and says to run `npx hapax migrate`.
   */
  readonly migrate?: MigrateOnOpen
  /** For timeouts. What is over is judged by the database's own clock. */
  readonly clock?: Clock
}

export interface SqliteStore extends Store<SqliteTransaction> {
  readonly transaction: <T>(claim: Claim, body: (tx: SqliteTransaction) => Promise<Step<T>>) => Promise<Committed<T>>
  /** Runs one statement of the application on its own: its tables, its reads. */
  query(statement: SqliteStatement): Promise<SqliteResult>
}
...
