import type { Claim } from '../../engine/record.js'
import type { Committed, Step, Store } from '../../engine/store.js'
import { type PgClient, type PgPool, pgConnections } from './connections.js'
import { storeError } from './faults.js'
import { queriesFor } from './queries.js'
import { recordTable } from './record-table.js'
import { applyPending, quoted, refuseOtherSchema } from './schema.js'
import { postgresSteps } from './steps.js'
import { inTransaction } from './transaction.js'

export interface PostgresStoreOptions<Client extends PgClient> {
  /** A `pg` Pool. It stays yours: closing the store does not end it. */
  readonly pool: PgPool<Client>
  /** Where the tables are. Default `'hapax'`. */
  readonly schema?: string
}

export interface PostgresStore<Tx> extends Store<Tx> {
  readonly transaction: <T>(claim: Claim, body: (tx: Tx) => Promise<Step<T>>) => Promise<Committed<T>>
}

/**
 * The store that people run money on: many connections, many nodes, one PostgreSQL.
 *
 * @example
 * const hapax = engine({ store: postgresStore({ pool: new pg.Pool({ connectionString }) }) })
 */
export function postgresStore<Client extends PgClient>(options: PostgresStoreOptions<Client>): PostgresStore<Client> {
  const schema = quoted(options.schema ?? 'hapax')
  const connections = pgConnections(options.pool)
  const queries = queriesFor(schema)
  const steps = postgresSteps(recordTable(queries, connections.query))
  return {
    name: 'postgres',
    grade: 'transactional',
    open: () => typed(() => refuseOtherSchema(connections, schema)),
    async close() {},
    reserve: (reservation) => typed(() => steps.reserve(reservation)),
    renew: (claim, leaseMs) => typed(() => steps.renew(claim, leaseMs)),
    checkpoint: (claim, step) => typed(() => steps.checkpoint(claim, step)),
    complete: (claim, completion) => typed(() => steps.complete(claim, completion)),
    release: (claim) => typed(() => steps.release(claim)),
    fail: (claim, failure) => typed(() => steps.fail(claim, failure)),
    doubt: (claim, reason) => typed(() => steps.doubt(claim, reason)),
    settle: (name, settlement) => typed(() => steps.settle(name, settlement)),
    sweep: (limit) => typed(() => steps.sweep(limit)),
    reap: (limit) => typed(() => steps.reap(limit)),
    find: (name) => typed(() => steps.find(name)),
    list: (query) => typed(() => steps.list(query)),
    transaction: (claim, body) => inTransaction(connections, queries, claim, body),
  }
}

/** Creates the schema, or brings it to this release. Run it with a role that owns the schema. */
export function migratePostgres<Client extends PgClient>(
  options: PostgresStoreOptions<Client>,
): Promise<readonly string[]> {
  return typed(() => applyPending(pgConnections(options.pool), quoted(options.schema ?? 'hapax')))
}

/** Whatever the driver throws leaves the store as a HapaxError. */
async function typed<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    throw storeError(error)
  }
}
