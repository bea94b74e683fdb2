/**
 * What the reaper costs whoever is served meanwhile: the p99 of reservations, with and without a reaper that works through a
 * million records past their retention as its defaults say, until none is left. Half of them become tombstones, half of them
 * are tombstones that are deleted. On a shared machine only the ratio means something, so that slices without and with it
 * take turns in one run, and the median of each is kept.
 */
import pg from 'pg'
import { startPostgres } from '../../scripts/postgres.mjs'
import { engine } from '../../src/engine/engine.js'
import { workerBounds } from '../../src/kernel/limits.js'
import { migratePostgres, postgresStore } from '../../src/stores/postgres/index.js'
import { startWorkers } from '../../src/workers/workers.js'
import { median } from '../median.js'
import { type Load, load } from '../store/load.js'

const expired = 1_000_000
const seconds = 4
/** Slices with the reaper for each without: it has a million to work through, and nobody has all day. */
const perRound = 6
/** So that it ends where a reaper does not. */
const rounds = 40
/** Moderate: the machine is busy, and not full. */
const traffic = { concurrency: 12, seconds, kind: 'pairs' } as const

interface Reaped {
  buried: number
  deleted: number
}

export async function reaper(): Promise<object> {
  const postgres = await startPostgres(console.error)
  if (postgres.kind === 'missing') throw new Error(`This bench needs PostgreSQL: ${postgres.reason}`)
  const pool = new pg.Pool({ connectionString: postgres.url, max: 16 })
  pool.on('error', () => undefined)
  try {
    await migratePostgres({ pool })
    await fill(pool)
    const store = postgresStore({ pool, connection: 'direct' })
    await store.open()
    const hapax = engine({ store: postgresStore({ pool, connection: 'direct' }) })
    const reaped: Reaped = { buried: 0, deleted: 0 }
    hapax.on('reaped', ({ buried, deleted }) => {
      reaped.buried += buried
      reaped.deleted += deleted
    })
    await load(store, traffic)
    const slices: { readonly without: Load[]; readonly with: Load[] } = { without: [], with: [] }
    const isOver = () => reaped.buried + reaped.deleted >= expired
    for (let round = 0; round < rounds && !isOver(); round++) {
      slices.without.push(await load(store, traffic))
      const workers = startWorkers({ hapax, sweeper: 'off', resumer: 'off', reconciler: 'off' })
      for (let slice = 0; slice < perRound && !isOver(); slice++) {
        const served = await load(store, traffic)
        // The last one ends without a reaper.
        if (!isOver()) slices.with.push(served)
      }
      await workers.stop()
    }
    return report(slices.without, slices.with, reaped)
  } finally {
    await pool.end()
    await postgres.stop()
  }
}

/** Half of them are to be buried, and stay so; half of them were, and are to be deleted. */
async function fill(pool: pg.Pool): Promise<void> {
  await pool.query(
    `INSERT INTO hapax.records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
      request_fingerprint, attempt, on_lease_over, recovery_point, response_status_code, response_headers, response_body,
      response_schema_version, evidence, created_at, last_run_at, expires_at, retention_ms, tombstone_ms)
    SELECT hapax.digest('old', 'old-' || i), 'old', 'old-' || i, 1, 1, 'c', status, 'payments.create', '1.test:aa', 1, 'doubt',
      'finished', CASE status WHEN 'completed' THEN 201 END, CASE status WHEN 'completed' THEN '[]' END,
      CASE status WHEN 'completed' THEN convert_to(repeat('x', 200), 'UTF8') END,
      CASE status WHEN 'completed' THEN 1 END, '[]', at, at, at + interval '1 day', 86400000,
      CASE status WHEN 'completed' THEN 30 ELSE 1 END * 86400000::bigint
    FROM (SELECT i, CASE i % 2 WHEN 0 THEN 'completed' ELSE 'expired' END AS status, now() - interval '9 days' AS at
      FROM generate_series(1, ${expired}) i) r`,
  )
  await pool.query('VACUUM ANALYZE hapax.records')
}

function report(without: readonly Load[], withReaper: readonly Load[], reaped: Reaped): object {
  console.log(
    `${reaped.buried} records buried and ${reaped.deleted} deleted, of ${expired}; ${traffic.concurrency} callers;`,
    `slices of ${seconds} s, median of each; batches of ${workerBounds.reapBatch}, ${workerBounds.reapPauseMs} ms between them`,
  )
  const line = (name: string, slices: readonly Load[]) => {
    const perSecond = median(slices.map(({ perSecond }) => perSecond))
    const p99 = median(slices.map(({ reserveP99Ms }) => reserveP99Ms ?? Number.NaN))
    const figures = `${perSecond.toFixed(0).padStart(6)} pairs/s   p99 of reservations ${p99.toFixed(2)} ms`
    console.log(`${name.padEnd(10)} ${figures}   ${slices.length} slices`)
    return { perSecond, p99 }
  }
  const [idle, reaping] = [line('without', without), line('with', withReaper)]
  const ratio = (a: number, b: number) => Number((a / b).toFixed(2))
  return {
    ratios: { p99: ratio(reaping.p99, idle.p99), throughput: ratio(reaping.perSecond, idle.perSecond) },
    ...reaped,
    reapedPerSecond: Math.round((reaped.buried + reaped.deleted) / (withReaper.length * seconds)),
  }
}
