import { systemClock, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import { connectionsOf, type PostgresClient } from '../stores/postgres/client.js'
import { storeError } from '../stores/postgres/faults.js'
import type { PgPool, PostgresJs } from '../stores/postgres/index.js'
import type { PostgresDatabase } from './database.js'
import { installed } from './installed.js'

/**
 * Uses a PostgreSQL with whichever driver is installed. The connection is made first and within a bound, so that
 * whatever fails later is about what was asked for.
 */
export async function withPostgres<T>(
  { url }: PostgresDatabase,
  use: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const { client, end } = (await byPg(url)) ?? (await byPostgresJs(url)) ?? noDriver()
  try {
    await ensureReachable(client)
    return await use(client)
  } finally {
    await within(systemClock, boundMs, end(), () => new Error()).catch(() => undefined)
  }
}

interface OpenClient {
  readonly client: PostgresClient
  end(): Promise<void>
}

const boundMs = defaults.storeTimeoutMs

async function byPg(connectionString: string): Promise<OpenClient | undefined> {
  const pg = await installed<{ default: { Pool: PgConstructor } }>(() => import('pg'))
  if (pg === undefined) return undefined
  const pool = new pg.default.Pool({ connectionString, max: 1, connectionTimeoutMillis: boundMs })
  // A connection that is lost while idle is nobody's business here; unheard, it would end the process.
  pool.on('error', () => undefined)
  return { client: pool, end: () => pool.end() }
}

type PgConstructor = new (
  config: object,
) => PgPool & {
  on(event: 'error', listener: () => void): void
  end(): Promise<void>
}

async function byPostgresJs(url: string): Promise<OpenClient | undefined> {
  const postgres = await installed<{ default: PostgresJsFactory }>(() => import('postgres'))
  if (postgres === undefined) return undefined
  const seconds = boundMs / 1_000
  const quiet = { fetch_types: false, onnotice: () => undefined }
  const sql = postgres.default(url, { max: 1, connect_timeout: seconds, prepare: false, ...quiet })
  return { client: sql, end: () => sql.end({ timeout: 0 }) }
}

type PostgresJsFactory = (
  url: string,
  options: object,
) => PostgresJs & { end(options: { timeout: number }): Promise<void> }

function noDriver(): never {
  throw new HapaxError('store_unreachable', 'No driver for PostgreSQL is installed. Run: npm install pg (or postgres)')
}

async function ensureReachable(client: PostgresClient): Promise<void> {
  const use = { statementTimeoutMs: boundMs, transactionTimeoutMs: boundMs, statements: 'unnamed' } as const
  try {
    await connectionsOf(client, use).query({ text: 'SELECT 1', gives: ['one'] }, [])
  } catch (error) {
    const known = storeError(error)
    if (known.code === 'store_unreachable') throw known
    const said = error instanceof Error ? error.message : String(error)
    throw new HapaxError('store_unreachable', `No connection could be made. Check the URL and the server. (${said})`, {
      cause: error,
    })
  }
}
