import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { startPostgres } from '../../scripts/postgres.mjs'
import type { Later } from './closing.js'
import { type ServerTime, serverTime } from './server-time.js'

/** A durable PostgreSQL with a database of its own. */
export interface Postgres {
  readonly url: string
  readonly version: string
  /** For what a bench asks of it besides. */
  readonly pool: pg.Pool
  readonly cpuMs: ServerTime
}

/** The server that the tests have too; on one that the environment names, nothing is left behind but its log. */
export async function durablePostgres(later: Later): Promise<Postgres> {
  const server = await startPostgres(console.error)
  if (server.kind === 'missing') throw new Error(`This bench needs PostgreSQL: ${server.reason}`)
  later(() => server.stop())
  const admin = poolOn(server.url, later)
  await refuseForgetful(admin)
  const name = `hapax_bench_${randomBytes(6).toString('hex')}`
  await admin.query(`CREATE DATABASE ${name}`)
  later(() => admin.query(`DROP DATABASE ${name} WITH (FORCE)`))
  const url = new URL(server.url)
  url.pathname = `/${name}`
  const { rows } = await admin.query('SHOW server_version')
  const version = String(rows[0].server_version).split(' ')[0] as string
  return { url: url.href, version, pool: poolOn(url.href, later), cpuMs: await serverTime(admin) }
}

function poolOn(url: string, later: Later): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  // A connection that the server ended is no longer in the pool, and that is all there is to do.
  pool.on('error', () => undefined)
  later(() => pool.end())
  return pool
}

/** What is compared must have been flushed to disk before it is acknowledged. */
async function refuseForgetful(pool: pg.Pool): Promise<void> {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const { rows } = await pool.query(`SHOW ${setting}`)
    if (rows[0][setting] !== 'on')
      throw new Error(`This PostgreSQL has ${setting} = ${rows[0][setting]}: a bench needs on.`)
  }
}
