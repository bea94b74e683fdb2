import type { AuditStore } from '../../engine/audit-store.js'
import type { CallStore } from '../../engine/call-store.js'
import type { EffectStore } from '../../engine/effect-store.js'
import type { Finding } from '../../engine/finding.js'
import type { InboxStore } from '../../engine/inbox-store.js'
import type { DatabaseStore } from '../../engine/store.js'
import { type Clock, systemClock } from '../../kernel/clock.js'
import { type Duration, parseDuration } from '../../kernel/duration.js'
import { HapaxError, isHapaxError } from '../../kernel/errors.js'
import { defaults, sqliteBounds } from '../../kernel/limits.js'
import { cuts } from './cuts.js'
import { databaseThread } from './database-thread.js'
import { sqliteEffects } from './effects/effect-store.js'
import { type Held, holdTransaction } from './held-transaction.js'
import { sqliteInbox } from './inbox/inbox-store.js'
import { lane } from './lane.js'
import { sqlitePath } from './path.js'
import type { Port } from './port.js'
import type { StepArguments, StepName } from './protocol.js'
import type { MigrateOnOpen } from './schema.js'
import { singleOn } from './single.js'
import type { SqliteResult, SqliteStatement, SqliteTransaction } from './statement.js'
import { transactionOn } from './transaction.js'

export interface SqliteStoreOptions {
  /** The database file. It is created when it does not exist; its directory is not. */
  readonly path: string
  /** How long to wait for the write lock while another process has it, before `store_busy`. Default `'2s'`. */
  readonly busyTimeout?: Duration
  /** How long a handler may hold a transaction, before it is rolled back. Default `'5s'`. */
  readonly transactionTimeout?: Duration
  /**
   * Whose schema is brought to this release on opening: that of a `new-file` (the default), that of any file
   * (`on-open`), or of none (`never`). Any other outdated schema refuses to start and says what to run.
   */
  readonly migrate?: MigrateOnOpen
  /** For the timeouts above. Leases and retention are judged on the database's own clock. */
  readonly clock?: Clock
}

export interface SqliteStore extends DatabaseStore<SqliteTransaction> {
  readonly single: NonNullable<DatabaseStore<SqliteTransaction>['single']>
  readonly calls: CallStore
  readonly effects: EffectStore<SqliteTransaction>
  readonly inbox: InboxStore<SqliteTransaction>
  readonly audit: AuditStore
  /** Runs one statement of the application on its own, outside of any claim. */
  query(statement: SqliteStatement): Promise<SqliteResult>
}

/**
 * The embedded store: one SQLite file, durable on every commit, shared by any number of processes on one machine.
 * A thread owns the connection, so that the event loop stays free.
 *
 * @example
 * const hapax = engine({ store: sqliteStore({ path: '.data/hapax.db' }) })
 */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  const { path, busyTimeout, transactionTimeout, migrate = 'new-file', clock = systemClock } = options
  const busyTimeoutMs = millisecondsOf(busyTimeout, 'busyTimeout', sqliteBounds.busyTimeoutMs)
  const timeoutMs = millisecondsOf(transactionTimeout, 'transactionTimeout', defaults.transactionTimeoutMs)
  const { ask, end, cut } = databaseThread({ path: sqlitePath(path), busyTimeoutMs, migrate }, clock)
  // One transaction of this process and one wait for another process: who waits longer than that waits in vain.
  const patienceMs = timeoutMs + busyTimeoutMs
  const { step, turn, drained } = lane({ clock, patienceMs, runBatch: (operations) => ask('batch', operations) })
  let closing: Promise<void> | undefined

  const whileOpen = <A extends readonly unknown[], R>(use: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (closing !== undefined) throw new HapaxError('store_failed', 'This store was closed. Make a new one to go on.')
      return use(...args)
    }
  }
  const stepOf = <K extends StepName>(name: K) => whileOpen((...args: StepArguments<K>) => step(name, ...args))
  const hold = whileOpen(<R>(body: Held<R>) => turn(() => holdTransaction({ ask, clock, timeoutMs }, body)))
  const port: Port = { stepOf, hold, ask }

  const store: SqliteStore = {
    name: 'sqlite',
    grade: 'transactional',
    open: whileOpen(() => turn(() => ask('open'))),
    close() {
      closing ??= drained().then(end)
      return closing
    },
    reserve: stepOf('reserve'),
    renew: stepOf('renew'),
    checkpoint: stepOf('checkpoint'),
    complete: stepOf('complete'),
    release: stepOf('release'),
    fail: stepOf('fail'),
    doubt: stepOf('doubt'),
    settle: stepOf('settle'),
    sweep: stepOf('sweep'),
    abandon: stepOf('abandon'),
    interrupted: stepOf('interrupted'),
    doubts: stepOf('doubts'),
    postpone: stepOf('postpone'),
    reap: stepOf('reap'),
    find: stepOf('find'),
    list: stepOf('list'),
    usage: stepOf('usage'),
    measure: stepOf('measure'),
    reapable: stepOf('reapable'),
    examine: whileOpen(() => turn(() => ask('examine')).catch(notThere)),
    tenants: stepOf('tenants'),
    transaction: transactionOn(port),
    single: singleOn(port),
    calls: {
      find: stepOf('calls.find'),
      list: stepOf('calls.list'),
      named: stepOf('calls.named'),
      testify: stepOf('calls.testify'),
      testimonies: stepOf('calls.testimonies'),
      reap: stepOf('calls.reap'),
    },
    effects: sqliteEffects(port),
    inbox: sqliteInbox(port),
    audit: { act: stepOf('audit.act'), list: stepOf('audit.list'), head: stepOf('audit.head') },
    query: whileOpen(({ sql, parameters = [] }) => turn(() => ask('query', { sql, parameters }))),
  }
  cuts.set(store, cut)
  return store
}

/** A file that cannot be looked at is a finding too. */
function notThere(error: unknown): readonly Finding[] {
  if (!isHapaxError(error)) throw error
  return [{ check: 'file', level: 'broken', code: error.code, says: error.message }]
}

function millisecondsOf(duration: Duration | undefined, name: string, otherwise: number): number {
  return duration === undefined ? otherwise : parseDuration(duration, `${name} of sqliteStore()`)
}
