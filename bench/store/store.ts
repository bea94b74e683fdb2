/**
 * What a durable answer costs on PostgreSQL: pairs of a reservation and its completion per second, and replays, through
 * the store as an application uses it. Beside it pgbench runs the same two statements, prepared, with 32 clients, in
 * the same run on the same server: on a shared machine only the ratio means something, so the rounds take turns and the
 * median of each is kept.
 *
 * The database checks the digest of every row. pgbench cannot hash, so its statements ask the database for the digest
 * too, which the store has at hand.
 */
import pg from 'pg'
import { startPostgres } from '../../scripts/postgres.mjs'
import { migratePostgres, postgresStore } from '../../src/stores/postgres/index.js'
import { fillStock, type Load, load } from './load.js'
import { pgbench } from './pgbench.js'

const rounds = 3
const seconds = 4
const concurrencies = [1, 32, 256] as const
/** As many as pgbench has; more only make the server's processes wait for each other. */
const connections = 32
/** One caller is compared with one client, more callers with as many clients as there are connections. */
const pgbenchClients = [1, 32] as const

export async function store(): Promise<{ readonly ratios: Readonly<Record<string, number>> }> {
  const postgres = await startPostgres(console.error)
  if (postgres.kind === 'missing') throw new Error(`This bench needs PostgreSQL: ${postgres.reason}`)
  const pool = new pg.Pool({ connectionString: postgres.url, max: connections })
  pool.on('error', () => undefined)
  try {
    await migratePostgres({ pool })
    const measured = postgresStore({ pool, connection: 'direct' })
    await measured.open()
    await fillStock(measured)
    const { rows } = await pool.query('SHOW server_version')
    console.log(
      `PostgreSQL ${rows[0].server_version}, fsync on; direct connections, ${connections} in the pool, group commit on;`,
      `${seconds} s each, median of ${rounds} rounds`,
    )
    const series = new Map<string, Load[]>()
    const note = (name: string, result: Load) => series.set(name, [...(series.get(name) ?? []), result])
    for (let round = 1; round <= rounds; round++) {
      await pool.query('VACUUM ANALYZE hapax.records')
      for (const clients of pgbenchClients)
        note(`pgbench@${clients}`, await pgbench({ url: postgres.url, clients, seconds }))
      for (const concurrency of concurrencies) {
        note(`hapax@${concurrency}`, await load(measured, { concurrency, seconds, kind: 'pairs' }))
        note(`replays@${concurrency}`, await load(measured, { concurrency, seconds: seconds / 2, kind: 'replays' }))
      }
    }
    return { ratios: report(series) }
  } finally {
    await pool.end()
    await postgres.stop()
  }
}

function report(series: ReadonlyMap<string, readonly Load[]>): Readonly<Record<string, number>> {
  const median = (loads: readonly Load[]) => [...loads].sort((a, b) => a.perSecond - b.perSecond)[loads.length >> 1]
  const base = (callers: number) =>
    median(series.get(`pgbench@${callers === 1 ? 1 : connections}`) ?? [])?.perSecond ?? Number.NaN
  const ratios: Record<string, number> = {}
  for (const [name, loads] of series) {
    const { perSecond = Number.NaN, p50Ms, p99Ms } = median(loads) ?? {}
    const latency = p50Ms === undefined ? '' : `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms?.toFixed(2)} ms`
    console.log(`${name.padEnd(12)} ${perSecond.toFixed(0).padStart(7)} /s   ${latency}`)
    const callers = /^hapax@(\d+)$/.exec(name)?.[1]
    if (callers !== undefined)
      ratios[`hapax/pgbench@${callers}`] = Number((perSecond / base(Number(callers))).toFixed(2))
  }
  return ratios
}
