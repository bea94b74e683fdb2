/**
 * How many effects a worker carries out per second on PostgreSQL: claimed, called (the provider answers at once) and
 * settled. Beside it pg-boss does what comes nearest, fetch and complete, with batches of the same size, in the same run on
 * the same server: on a shared machine only the ratio means something, so the two take turns, each ratio is one of
 * neighbours, and the median of all is kept. Both run as they are published: what compiles a bench on the way wraps every
 * function of ours, and none of theirs.
 */
import pg from 'pg'
import { effects as definitions } from '../../dist/effects/effects.js'
import { effectWorker } from '../../dist/effects/worker.js'
import type { EffectStore } from '../../dist/engine/effect-store.js'
import { migratePostgres, postgresStore } from '../../dist/stores/postgres/index.js'
import { startPostgres } from '../../scripts/postgres.mjs'
import { median } from '../median.js'
import { type Boss, startedBoss } from './boss.js'
import { writeEffects } from './written.js'

const rounds = 15
const count = 10_000
const batch = 256
/** As many as each may use; neither asks for all of them. */
const connections = 8

interface Report {
  readonly ratios: Readonly<Record<string, number>>
  readonly perSecond: Readonly<Record<string, number>>
}

export async function effects(): Promise<Report> {
  const postgres = await startPostgres(console.error)
  if (postgres.kind === 'missing') throw new Error(`This bench needs PostgreSQL: ${postgres.reason}`)
  const pool = new pg.Pool({ connectionString: postgres.url, max: connections })
  pool.on('error', () => undefined)
  let boss: Boss | undefined
  try {
    await migratePostgres({ pool })
    const store = postgresStore({ pool, connection: 'direct' })
    await store.open()
    const outbox = store.effects
    if (outbox === undefined) throw new Error('This store has no outbox.')
    boss = await startedBoss(postgres.url, connections)
    const { rows } = await pool.query('SHOW server_version')
    console.log(
      `PostgreSQL ${rows[0].server_version}, fsync on; ${count} effects a round in batches of ${batch},`,
      `median of ${rounds} rounds`,
    )
    const series = { hapax: [] as number[], 'pg-boss': [] as number[] }
    // The first round warms both up.
    for (let round = 0; round <= rounds; round++) {
      await writeEffects(store, count)
      await boss.insert(count)
      await pool.query('VACUUM ANALYZE')
      const first = () => perSecond(() => carriedOut(outbox))
      const second = () => perSecond(() => (boss as Boss).complete(count, batch))
      const taken = round % 2 === 0 ? [await first(), await second()] : [await second(), await first()].reverse()
      if (round === 0) continue
      series.hapax.push(taken[0] ?? Number.NaN)
      series['pg-boss'].push(taken[1] ?? Number.NaN)
    }
    return report(series)
  } finally {
    await boss?.stop()
    await pool.end()
    await postgres.stop()
  }
}

/** One worker, until all are done. */
async function carriedOut(store: EffectStore<pg.PoolClient>): Promise<void> {
  const outbox = definitions({ 'bench.call': { call: async () => ({ id: 'p_1' }), honoursKeyFor: '24h' } })
  const enough = new AbortController()
  let left = count
  const settle: typeof store.settle = async (settlements) => {
    const written = await store.settle(settlements)
    left -= written.filter((isWritten) => isWritten).length
    if (left === 0) enough.abort()
    return written
  }
  const worker = effectWorker({
    store: { ...store, settle },
    effects: outbox,
    concurrency: batch,
    batch: 3 * batch,
  })
  await worker.run(enough.signal)
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return (count / (performance.now() - startedAt)) * 1_000
}

function report(series: Readonly<Record<'hapax' | 'pg-boss', readonly number[]>>): Report {
  const hapax = Math.round(median(series.hapax))
  const boss = Math.round(median(series['pg-boss']))
  for (const [name, numbers] of Object.entries(series)) {
    const spread = `${Math.min(...numbers).toFixed(0)} to ${Math.max(...numbers).toFixed(0)}`
    console.log(`${name.padEnd(12)} ${median(numbers).toFixed(0).padStart(7)} /s   ${spread}`)
  }
  const ratio = median(series.hapax.map((taken, round) => taken / (series['pg-boss'][round] ?? Number.NaN)))
  return { ratios: { 'pg-boss': Number(ratio.toFixed(2)) }, perSecond: { hapax, 'pg-boss': boss } }
}
