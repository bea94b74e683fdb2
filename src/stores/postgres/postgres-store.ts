import type { AuditStore } from '../../engine/audit-store.js'
import type { CallStore } from '../../engine/call-store.js'
import type { EffectStore } from '../../engine/effect-store.js'
import type { Finding } from '../../engine/finding.js'
import type { InboxStore } from '../../engine/inbox-store.js'
import type { DatabaseStore, Store } from '../../engine/store.js'
import { type Duration, parseDuration } from '../../kernel/duration.js'
import { HapaxError } from '../../kernel/errors.js'
import { defaults } from '../../kernel/limits.js'
import { auditQueriesFor } from './audit/audit-queries.js'
import { postgresAudit } from './audit/audit-store.js'
import { batchQueriesFor } from './batch-queries.js'
import { batchingTable } from './batching-table.js'
import { callQueriesFor } from './calls/call-queries.js'
import { postgresCalls } from './calls/call-store.js'
import { testimonyQueriesFor } from './calls/testimony-queries.js'
import { connectionsOf, type PostgresClient, type TransactionOf } from './client.js'
import type { Connections, ConnectionUse } from './connections.js'
import { each } from './each.js'
import { effectQueriesFor } from './effects/effect-queries.js'
import { postgresEffects } from './effects/effect-store.js'
import { effectWriter } from './effects/effect-writer.js'
import { settleQueriesFor } from './effects/settle-queries.js'
import { turnQueriesFor } from './effects/turn-queries.js'
import { type Durability, examine } from './examine.js'
import { type Execute, executor, type RowSecurity } from './executor.js'
import { storeError } from './faults.js'
import { inboxQueriesFor } from './inbox/inbox-queries.js'
import { postgresInbox } from './inbox/inbox-store.js'
import { measureQuery } from './measure-query.js'
import { countingReapable, measuring } from './measuring.js'
import { queriesFor } from './queries.js'
import { recordBatches } from './record-batches.js'
import { recordTable } from './record-table.js'
import { defaultSchema, type MigratePostgresOptions, migrate, type PostgresMigration, quoted } from './schema.js'
import { creationOn } from './single/creation.js'
import { keyLock } from './single/key-lock.js'
import { singleOn } from './single/on-connections.js'
import { postgresSteps } from './steps.js'
import { tally } from './tally.js'
import { inTransaction } from './transaction.js'
import { begins, type TransactionFrom, type TransactionSource } from './transactions/source.js'
import { toolTransactions } from './transactions/tool-connections.js'

export interface PostgresOptions<Client extends PostgresClient> {
  /** A `pg` Pool, a postgres.js client, or a PGlite. It stays yours: closing the store does not end it. */
  readonly pool: Client
  /** Where the tables are. Default `'hapax'`. */
  readonly schema?: string
  /**
   * What is behind the pool. On a `direct` connection statements are prepared once and named, which is quicker; a
   * `pooler` in transaction mode knows no names. Default `'pooler'`, which does for both.
   */
  readonly connection?: 'direct' | 'pooler'
}

export interface PostgresStoreOptions<Client extends PostgresClient, Source extends TransactionSource = never>
  extends PostgresOptions<Client> {
  /**
   * What opens the transactions of handlers: the handle of Kysely, Drizzle, Prisma, Knex, TypeORM or PGlite, on the same
   * database. A handler is given that tool's own transaction. Default: the pool.
   */
  readonly transactions?: Source
  /** How long to wait for a connection, and for the answer to a statement. Default `'5s'`. */
  readonly statementTimeout?: Duration
  /** How long a handler may leave its transaction idle, before the server rolls it back. Default `'5s'`. */
  readonly transactionTimeout?: Duration
  /**
   * Whether reservations, completions, renewals and reads that arrive together share a statement and its fsync. Default
   * `'on'`; under row security it is always off.
   */
  readonly batching?: 'on' | 'off'
  /** `'scope'` when the table has row security by scope: see `postgresRights`. Default `'off'`. */
  readonly rowSecurity?: RowSecurity
  /** Whether to refuse a server that may forget what it acknowledged. `'unchecked'` is for tests. Default `'required'`. */
  readonly durability?: Durability
}

export interface PostgresStore<Tx> extends DatabaseStore<Tx> {
  readonly single: NonNullable<Store<Tx>['single']>
  readonly calls: CallStore
  readonly effects: EffectStore<Tx>
  readonly inbox: InboxStore<Tx>
  readonly audit: AuditStore
  readonly examine: () => Promise<readonly Finding[]>
}

/**
 * The store that people run money on: many connections, many nodes, one PostgreSQL.
 *
 * @example
 * const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
 * const hapax = engine({ store: postgresStore({ pool }) })
 */
export function postgresStore<Client extends PostgresClient, Source extends TransactionSource = never>(
  options: PostgresStoreOptions<Client, Source>,
): PostgresStore<HandedOut<Client, Source>> {
  const { schema = defaultSchema, rowSecurity = 'off', durability = 'required', batching = 'on' } = options
  const use = useOf(options)
  const connections = connectionsOf(options.pool, use)
  /** Where handlers write. */
  const phases = phasesOf(options, connections, use)
  const queries = queriesFor(quoted(schema))
  const outbox = {
    ...effectQueriesFor(quoted(schema)),
    ...settleQueriesFor(quoted(schema)),
    ...turnQueriesFor(quoted(schema)),
  }
  const execute = executor(connections, rowSecurity)
  const table = recordTable(queries, execute)
  // Under row security a statement is about one scope, and a batch is about many.
  const isBatching = batching === 'on' && rowSecurity === 'off'
  const batches = recordBatches(batchQueriesFor(quoted(schema)), execute)
  const steps = postgresSteps(
    isBatching ? batchingTable(table, batches, { patienceMs: use.statementTimeoutMs }) : table,
  )
  const measure = measuring(measureQuery(quoted(schema)), execute)
  const reapable = countingReapable(queries.reapable, execute)
  const underWay = tally()

  /** Closing waits for it. */
  async function kept<T>(step: Promise<T>): Promise<T> {
    const end = underWay.begin()
    try {
      return await step
    } finally {
      end()
    }
  }
  /** The same, in one go: every request comes by here twice. */
  async function run<T>(step: () => Promise<T>): Promise<T> {
    const end = underWay.begin()
    try {
      return await step()
    } catch (error) {
      throw storeError(error)
    } finally {
      end()
    }
  }
  const said = testimonyQueriesFor(quoted(schema))
  const asking: Execute = (...given) => typed(() => execute(...given))
  const around = { queries, effects: effectWriter(schema, outbox), rowSecurity, readBack: connections }
  const aroundSingle = { ...around, lock: keyLock(schema, quoted(schema)), creation: creationOn(quoted(schema)) }
  const findings = () => run(() => examine(connections, { schema, rowSecurity, durability }))

  return {
    name: 'postgres',
    grade: 'transactional',
    open: async () => refuseBroken(await findings()),
    async close() {
      await underWay.over()
      await connections.close()
    },
    examine: findings,
    reserve: (reservation) => run(() => steps.reserve(reservation)),
    renew: (claim, leaseMs) => run(() => steps.renew(claim, leaseMs)),
    checkpoint: (claim, step) => run(() => steps.checkpoint(claim, step)),
    complete: (claim, completion) => run(() => steps.complete(claim, completion)),
    release: (claim) => run(() => steps.release(claim)),
    fail: (claim, failure) => run(() => steps.fail(claim, failure)),
    doubt: (claim, reason) => run(() => steps.doubt(claim, reason)),
    settle: (name, settlement) => run(() => steps.settle(name, settlement)),
    sweep: (limit) => run(() => steps.sweep(limit)),
    abandon: (query) => run(() => steps.abandon(query)),
    interrupted: (query) => run(() => steps.interrupted(query)),
    doubts: (query) => run(() => steps.doubts(query)),
    postpone: (name, plan) => run(() => steps.postpone(name, plan)),
    reap: (limit) => run(() => steps.reap(limit)),
    find: (name) => run(() => steps.find(name)),
    list: (query) => run(() => steps.list(query)),
    usage: (tenant, atMost) => run(() => steps.usage(tenant, atMost)),
    measure: (atMost) => run(() => measure(atMost)),
    reapable: (atMost) => run(() => reapable(atMost)),
    tenants: (query) => run(() => steps.tenants(query)),
    transaction: (claim, body) => kept(inTransaction(phases, around, claim, body)),
    single: (reservation, body, joins) => kept(singleOn(phases, aroundSingle, reservation, body, joins)),
    calls: each(kept, postgresCalls({ ...callQueriesFor(quoted(schema)), ...said }, asking)),
    inbox: each(
      kept,
      postgresInbox({
        queries: { ...inboxQueriesFor(quoted(schema)), ...said },
        execute: asking,
        rowSecurity,
        phases,
        ...use,
      }),
    ),
    audit: each(
      kept,
      postgresAudit({
        queries: { ...auditQueriesFor(quoted(schema)), ...said },
        records: queries,
        effects: (on) =>
          postgresEffects({
            schema: quoted(schema),
            queries: outbox,
            execute: on,
            rowSecurity,
            phases: connections,
            readBack: connections,
          }),
        execute: asking,
        rowSecurity,
        connections,
        ...use,
      }),
    ),
    effects: each(
      kept,
      postgresEffects({
        schema: quoted(schema),
        queries: outbox,
        execute: asking,
        rowSecurity,
        phases,
        readBack: connections,
      }),
    ),
  }
}

/**
 * Creates the schema, or brings it to this release: what `npx hapax migrate <url>` runs. Use a role that may create
 * the schema or owns it; any number of processes may do so at once.
 *
 * @example
 * await migratePostgres({ pool })
 */
export function migratePostgres<Client extends PostgresClient>({
  pool,
  schema = defaultSchema,
  connection = 'pooler',
  mode = 'apply',
}: PostgresOptions<Client> & MigratePostgresOptions): Promise<PostgresMigration> {
  const use: ConnectionUse = {
    statementTimeoutMs: defaults.openTimeoutMs,
    transactionTimeoutMs: defaults.openTimeoutMs,
    statements: statementsOn(connection),
  }
  return typed(async () => migrate(connectionsOf(pool, use), schema, mode))
}

/** Whose transaction a handler is given. */
type HandedOut<Client, Source> = [Source] extends [never] ? TransactionOf<Client> : TransactionFrom<Source>

/** The pool opens them, unless there is a tool that does. */
function phasesOf<Client extends PostgresClient, Source extends TransactionSource>(
  { transactions }: PostgresStoreOptions<Client, Source>,
  connections: Connections<unknown>,
  use: ConnectionUse,
): Pick<Connections<HandedOut<Client, Source>>, 'transaction'> {
  if (transactions === undefined) return connections as Connections<HandedOut<Client, Source>>
  return { transaction: toolTransactions(begins(transactions), use, connections.query) }
}

function useOf<Client extends PostgresClient>(options: PostgresStoreOptions<Client, TransactionSource>): ConnectionUse {
  const { statementTimeout, transactionTimeout, connection = 'pooler' } = options
  return {
    statementTimeoutMs: millisecondsOf(statementTimeout, 'statementTimeout', defaults.storeTimeoutMs),
    transactionTimeoutMs: millisecondsOf(transactionTimeout, 'transactionTimeout', defaults.transactionTimeoutMs),
    statements: statementsOn(connection),
  }
}

function statementsOn(connection: 'direct' | 'pooler'): ConnectionUse['statements'] {
  return connection === 'direct' ? 'named' : 'unnamed'
}

/** PostgreSQL takes a timeout of 0 for none. */
function millisecondsOf(duration: Duration | undefined, what: string, otherwise: number): number {
  const ms = duration === undefined ? otherwise : parseDuration(duration, what)
  if (ms > 0) return ms
  throw new HapaxError('policy_invalid', `${what} is ${duration}; every wait has a bound, so give more than 0.`)
}

function refuseBroken(findings: readonly Finding[]): void {
  for (const finding of findings) if (finding.level === 'broken') throw new HapaxError(finding.code, finding.says)
}

/** Whatever the driver throws leaves the store as a HapaxError. */
async function typed<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw storeError(error)
  }
}
