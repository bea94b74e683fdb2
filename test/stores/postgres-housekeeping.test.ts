import { postgresStore } from 'hapax/postgres'
import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { onPostgres } from '../support/on-postgres.js'
import { recorded } from '../support/postgres-recorded.js'
import { connectionsOfTest, type FreshSchema, fill, schemaOfTest } from '../support/postgres-schema.js'
import { claimed, reservation } from './given.js'

/** Many nodes sweep and reap at once, beside traffic, and nobody waits or does anything twice. */

const mostBatches = 1_000
const past = `now() - interval '1 minute'`
const overdue = { key: `'overdue-' || i`, status: `'in_progress'`, lockedUntil: past } as const
const expired = { key: `'expired-' || i`, status: `'completed'`, expiresAt: past } as const
/** All that serving may take on the table: none of these keeps anybody from reading or writing another row. */
const weak = ['AccessShareLock', 'RowExclusiveLock', 'RowShareLock']

onPostgres('housekeeping', (url) => {
  test('two sweepers, two reapers and live traffic handle each record once, within their batches', async () => {
    const given = await schemaOfTest(url)
    await fill(given, { count: 2_000, ...overdue })
    await fill(given, { count: 3_000, ...expired })
    await fill(given, { count: 2_000, ...expired, key: `'gone-' || i`, tombstoneMs: '0' })
    await fill(given, { count: 1_000, ...expired, key: `'tombstone-' || i`, status: `'expired'`, tombstoneMs: '0' })
    await fill(given, { count: 500, key: `'answered-' || i`, status: `'completed'` })
    await fill(given, { count: 500, key: `'running-' || i`, status: `'in_progress'` })
    const living = await rowsLike(given, '(answered|running)-')

    const traffic = new AbortController()
    const locks = lockModes(given, traffic.signal)
    const served = serve(given, traffic.signal)
    const [swept, reaped] = await Promise.all([
      Promise.all([sweepAll(given, 90), sweepAll(given, 110)]),
      Promise.all([reapAll(given, 90), reapAll(given, 110)]),
    ]).finally(() => traffic.abort())

    const ids = swept.flat()
    expect([ids.length, new Set(ids).size]).toEqual([2_000, 2_000])
    const total = (what: 'buried' | 'deleted') => reaped.flat().reduce((sum, each) => sum + each[what], 0)
    expect([total('buried'), total('deleted')]).toEqual([5_000, 3_000])
    expect(await served).toBeGreaterThan(0)
    expect(await rowsLike(given, '(answered|running)-')).toEqual(living)
    expect(await statesLike(given, 'overdue-')).toEqual([{ status: 'unknown', count: 2_000 }])
    expect(await statesLike(given, '(expired|gone|tombstone)-')).toEqual([{ status: 'expired', count: 3_000 }])
    expect(await statesLike(given, 'live-')).toEqual([{ status: 'completed', count: await served }])
    expect(weak).toEqual(expect.arrayContaining([...(await locks)]))
  })

  test('a sweep and a reap lock rows, never the table', async () => {
    const given = await schemaOfTest(url)
    await fill(given, { count: 10, ...overdue })
    await fill(given, { count: 10, ...expired })
    const { pool, sent } = recorded(given.owner)
    const store = postgresStore({ pool, schema: given.schema })
    await store.sweep(1)
    await store.reap(1)
    expect(sent).toHaveLength(3)
    const client = await given.owner.connect()
    for (const { text, values } of sent) {
      await client.query('BEGIN')
      await client.query(text, [...values])
      const { rows } = await client.query(
        `SELECT DISTINCT mode FROM pg_locks
        WHERE pid = pg_backend_pid() AND locktype = 'relation' AND relation = $1::regclass ORDER BY mode`,
        [`${given.schema}.records`],
      )
      expect(rows.map(({ mode }) => mode)).toEqual(['RowExclusiveLock', 'RowShareLock'])
      await client.query('ROLLBACK')
    }
    client.release()
  })

  test('a row that somebody holds is passed over, and taken once it is free', async () => {
    const given = await schemaOfTest(url)
    await fill(given, { count: 5, ...overdue })
    await fill(given, { count: 5, ...expired })
    await fill(given, { count: 5, ...expired, key: `'tombstone-' || i`, status: `'expired'`, tombstoneMs: '0' })
    const { store } = given.node({ statementTimeout: '2s' })
    const holder = await given.owner.connect()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM ${given.schema}.records WHERE idempotency_key ~ '-[12]$' FOR UPDATE`)
    expect(await store.sweep(100)).toHaveLength(3)
    expect(await store.reap(100)).toEqual({ buried: 3, deleted: 3 })
    await holder.query('COMMIT')
    holder.release()
    expect(await store.sweep(100)).toHaveLength(2)
    expect(await store.reap(100)).toEqual({ buried: 2, deleted: 2 })
  })

  test('a batch keeps its limit, whichever way the server chooses to join', async () => {
    const given = await schemaOfTest(url)
    await fill(given, { count: 20, ...overdue })
    await fill(given, { count: 20, ...expired })
    await fill(given, { count: 20, ...expired, key: `'tombstone-' || i`, status: `'expired'`, tombstoneMs: '0' })
    const joins = ['material', 'hashjoin', 'hashagg', 'mergejoin', 'sort'].map((way) => `-c enable_${way}=off`)
    const pool = connectionsOfTest(url, { options: joins.join(' ') })
    const store = postgresStore({ pool, schema: given.schema })
    expect(await store.sweep(2)).toHaveLength(2)
    expect(await store.reap(2)).toEqual({ buried: 2, deleted: 2 })
  })
})

/** Sweeps until there is nothing left, and gives the ids of all that it swept. */
async function sweepAll(given: FreshSchema, limit: number): Promise<readonly number[]> {
  const { store } = given.node()
  const ids: number[] = []
  for (let batch = 0; batch < mostBatches; batch++) {
    const swept = await store.sweep(limit)
    expect(swept.length).toBeLessThanOrEqual(limit)
    if (swept.length === 0) return ids
    ids.push(...swept.map(({ id }) => id))
  }
  throw new Error('there is always something left to sweep')
}

async function reapAll(given: FreshSchema, limit: number) {
  const { store } = given.node()
  const batches: { readonly buried: number; readonly deleted: number }[] = []
  for (let batch = 0; batch < mostBatches; batch++) {
    const reaped = await store.reap(limit)
    expect(Math.max(reaped.buried, reaped.deleted)).toBeLessThanOrEqual(limit)
    if (reaped.buried + reaped.deleted === 0) return batches
    batches.push(reaped)
  }
  throw new Error('there is always something left to reap')
}

/** New keys, their answers and their replays, until it is told to stop. Gives how many keys it served. */
async function serve(given: FreshSchema, signal: AbortSignal): Promise<number> {
  const { store } = given.node()
  let served = 0
  while (!signal.aborted) {
    const key = `live-${served}`
    await store.complete(await claimed(store, key), completion())
    expect((await store.reserve(reservation(key))).kind).toBe('completed')
    served++
  }
  return served
}

/** Every kind of lock that a node was seen to hold on the table. */
async function lockModes({ owner, schema }: FreshSchema, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const seen = new Set<string>()
  while (!signal.aborted) {
    const { rows } = await owner.query(
      `SELECT DISTINCT mode FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE locktype = 'relation' AND relation = $1::regclass AND application_name = $2`,
      [`${schema}.records`, schema],
    )
    for (const { mode } of rows) seen.add(mode)
  }
  return seen
}

async function rowsLike({ owner, schema }: FreshSchema, pattern: string): Promise<unknown[]> {
  const { rows } = await owner.query(
    `SELECT ctid::text, xmin::text, xmax::text, revision FROM ${schema}.records WHERE idempotency_key ~ $1 ORDER BY id`,
    [`^${pattern}`],
  )
  return rows
}

async function statesLike({ owner, schema }: FreshSchema, pattern: string): Promise<unknown[]> {
  const { rows } = await owner.query(
    `SELECT status, count(*)::int AS count FROM ${schema}.records WHERE idempotency_key ~ $1 GROUP BY status`,
    [`^${pattern}`],
  )
  return rows
}
