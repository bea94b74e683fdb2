import { HapaxError } from '../../kernel/errors.js'
import type { Connections, ConnectionUse } from './connections.js'
import { type PgClient, type PgPool, pgConnections } from './pg-pool.js'
import { type PostgresJs, postgresJsConnections } from './postgres-js.js'
import type { PostgresJsTransaction } from './postgres-js-guard.js'
import { isPGlite, type PGlite, type PGliteTransaction } from './transactions/pglite.js'
import { pgliteConnections } from './transactions/pglite-connections.js'

/** A client library's own door to PostgreSQL: a `pg` Pool, a postgres.js client, or for tests a PGlite. */
export type PostgresClient = PgPool | PostgresJs | PGlite

/** What a handler is given inside of a transaction: the library's own object. */
export type TransactionOf<Client> =
  Client extends PgPool<infer Connection>
    ? Connection
    : Client extends PostgresJs<infer Tx>
      ? Tx
      : Client extends PGlite<infer Tx>
        ? Tx
        : never

/** Recognises the library by the shape of what was handed in. */
export function connectionsOf<Client extends PostgresClient>(
  client: Client,
  use: ConnectionUse,
): Connections<TransactionOf<Client>> {
  const given = client as Partial<PgPool & PostgresJs> | undefined
  if (typeof given?.unsafe === 'function' && typeof given.begin === 'function')
    return postgresJsConnections(client as PostgresJs<TransactionOf<Client> & PostgresJsTransaction>, use)
  if (typeof given?.connect === 'function' && !isSingle(given))
    return pgConnections(client as PgPool<TransactionOf<Client> & PgClient>, use)
  if (typeof client === 'object' && client !== null && isPGlite(client))
    return pgliteConnections<TransactionOf<Client> & PGliteTransaction>(client, use)
  if (typeof given?.connect === 'function')
    throw new HapaxError('store_unknown', 'This is a single pg Client. Give postgresStore a Pool: new pg.Pool({ … }).')
  throw new HapaxError(
    'store_unknown',
    'pool is neither a pg Pool nor a postgres.js client nor a PGlite. Give new pg.Pool({ … }) or postgres(url).',
  )
}

/** A `pg` Client, which connects as a Pool does, but only once. */
function isSingle(given: object): boolean {
  return typeof (given as { escapeLiteral?: unknown }).escapeLiteral === 'function'
}
