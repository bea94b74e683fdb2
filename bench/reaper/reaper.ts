/**
 * What the reaper costs whoever is served meanwhile: the p99 of pairs of a reservation and its completion, without and with
 * a reaper that works through a million records past their retention, as its defaults say. On a shared machine only the
 * ratio means something, so that slices without and with it take turns in one run, and the median of each is kept.
 */
import pg from 'pg'
import { startPostgres } from '../../scripts/postgres.mjs'
import { engine } from '../../src/engine/engine.js'
import { workerBounds } from '../../src/kernel/limits.js'
import { migratePostgres, postgresStore } from '../../src/stores/postgres/index.js'
import { startWorkers } from '../../src/workers/workers.js'
import { type Load, load } from '../store/load.js'

const expired = 1_000_000
const rounds = 7
const seconds = 5
/** Moderate: the machine is busy, and not full. */
const concurrency = 12

interface Slice extends Load {
  readonly reaped: number
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
    let reaped = 0
    hapax.on('reaped', ({ buried, deleted }) => {
      reaped += buried + deleted
    })
    await load(store, { concurrency, seconds: 2, kind: 'pairs' })
    const slices: { readonly idle: Slice[]; readonly reaping: Slice[] } = { idle: [], reaping: [] }
    for (let round = 0; round < rounds; round++) {
      slices.idle.push({ ...(await load(store, { concurrency, seconds, kind: 'pairs' })), reaped: 0 })
      const before = reaped
      const workers = startWorkers({ hapax, sweeper: 'off', resumer: 'off', reconciler: 'off' })
      const with_ = await load(store, { concurrency, seconds, kind: 'pairs' })
      await workers.stop()
      slices.reaping.push({ ...with_, reaped: reaped - before })
    }
    return report(slices)
  } finally {
    await pool.end()
    await postgres.stop()
  }
}

/** Half of them are to be buried, half of them to be deleted. */
async function fill(pool: pg.Pool): Promise<void> {
  await pool.query(
    `INSERT INTO hapax.records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
      request_fingerprint, attempt, on_lease_over, recovery_point, response_status_code, response_headers, response_body,
      response_schema_version, evidence, created_at, last_run_at, expires_at, retention_ms, tombstone_ms)
    SELECT hapax.digest('old', 'old-' || i), 'old', 'old-' || i, 1, 1, 'c', status, 'payments.create', '1.test:aa', 1, 'doubt',
      'finished', CASE status WHEN 'completed' THEN 201 END, CASE status WHEN 'completed' THEN '[]' END,
      CASE status WHEN 'completed' THEN convert_to(repeat('x', 200), 'UTF8') END,
      CASE status WHEN 'completed' THEN 1 END, '[]', at, at, at + interval '1 day', 86400000, 86400000
    FROM (SELECT i, CASE i % 2 WHEN 0 THEN 'completed' ELSE 'expired' END AS status, now() - interval '9 days' AS at
      FROM generate_series(1, ${expired}) i) r`,
  )
  await pool.query('VACUUM ANALYZE hapax.records')
}

function report({ idle, reaping }: { readonly idle: readonly Slice[]; readonly reaping: readonly Slice[] }): object {
  const median = (slices: readonly Slice[], of: (slice: Slice) => number | undefined) =>
    slices.map((slice) => of(slice) ?? Number.NaN).sort((a, b) => a - b)[slices.length >> 1] ?? Number.NaN
  const line = (name: string, slices: readonly Slice[]) => {
    const [perSecond, p50, p99] = [
      median(slices, (s) => s.perSecond),
      median(slices, (s) => s.p50Ms),
      median(slices, (s) => s.p99Ms),
    ]
    const rate = median(slices, (s) => s.reaped / seconds)
    console.log(
      `${name.padEnd(10)} ${perSecond.toFixed(0).padStart(6)} pairs/s   p50 ${p50.toFixed(2)} ms   p99 ${p99.toFixed(2)} ms   reaped ${rate.toFixed(0)}/s`,
    )
    return { perSecond, p50, p99, rate }
  }
  console.log(
    `${expired} expired records; ${concurrency} callers; slices of ${seconds} s, median of ${rounds};`,
    `batches of ${workerBounds.reapBatch}, ${workerBounds.reapPauseMs} ms between them`,
  )
  const without = line('without', idle)
  const withReaper = line('with', reaping)
  const ratio = (a: number, b: number) => Number((a / b).toFixed(2))
  return {
    ratios: {
      p99: ratio(withReaper.p99, without.p99),
      p50: ratio(withReaper.p50, without.p50),
      throughput: ratio(withReaper.perSecond, without.perSecond),
    },
    reapedPerSecond: Math.round(withReaper.rate),
  }
}
