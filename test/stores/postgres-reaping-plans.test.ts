import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { planOf, readInVain, scansOf } from '../support/postgres-plan.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, fillEffects, freshSchema } from '../support/postgres-schema.js'
import { claimed } from './given.js'

/** On 200,000 records with calls, effects and testimonies, whoever deletes or compares walks indexes only. */

const rows = 200_000

onPostgres('on 200,000 records with all that hangs on them', (url) => {
  let given: FreshSchema
  let sent: Record<string, Sent | undefined>

  beforeAll(async () => {
    given = await freshSchema(url)
    await fill(given, {
      count: rows,
      key: `'key-' || i`,
      status: `CASE WHEN i % 100 < 80 THEN 'completed' ELSE 'expired' END`,
      expiresAt: `now() + (i % 1440 - 15) * interval '1 minute' - CASE WHEN i % 100 < 80 THEN interval '0' ELSE interval '1 day' END`,
    })
    await fillEffects(given, rows)
    await given.owner.query(
      `INSERT INTO ${given.schema}.calls (downstream_key, record_id, scope_id, operation, generation, phase, state, begun_at)
      SELECT 'call-' || i, i, 'acme', 'rides.create', 1, 'charged', 'landed', now() - i * interval '1 minute'
      FROM generate_series(1, ${rows}) i`,
    )
    await given.owner.query(
      `INSERT INTO ${given.schema}.testimonies (downstream_key, says, said_by, why, said_at, is_known)
      SELECT 'call-' || i * 2, 'landed', 'ledger', 'day', now() - i * interval '1 minute', (i % 100 > 0)::int
      FROM generate_series(1, ${rows}) i`,
    )
    for (const table of ['records', 'effects', 'effect_states', 'calls', 'testimonies'])
      await given.owner.query(`VACUUM (ANALYZE) ${given.schema}.${table}`)
    sent = await statementsOf(given)
  }, 60_000)

  afterAll(() => given?.dispose())

  for (const kind of ['custom', 'generic'] as const) {
    test.each([
      ['tombstones are deleted with all that hangs on them', 'forget'],
      ['what a reaping would take is counted', 'count'],
      ['a reservation is given back', 'release'],
      ['effects are reaped', 'reap effects'],
      ['testimonies are reaped', 'reap testimonies'],
      ['calls of a window are listed', 'list calls'],
      ['calls are found by their keys', 'name calls'],
      ['effects that were done are listed', 'done effects'],
      ['effects are found by their keys', 'name effects'],
    ])(`when %s, no table is read through, by a ${kind} plan`, async (_, statement) => {
      const scans = scansOf(await planOf(given, sent[statement], kind))
      expect(scans.length).toBeGreaterThan(0)
      expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([])
    })
  }

  test('a page of calls costs as many rows as it has, wherever in the table it is', async () => {
    const plan = await planOf(given, sent['list calls'], 'custom', 'ANALYZE, ')
    expect(scansOf(plan)).toEqual(['Index Scan on calls_begun'])
    expect(readInVain(plan)).toBe(0)
  })
})

/** Lets a store do everything once, and keeps what it sent. */
async function statementsOf({ owner, schema }: FreshSchema): Promise<Record<string, Sent | undefined>> {
  const { pool, sent } = recorded(owner)
  const store = postgresStore({ pool, schema, connection: 'direct' })
  const claim = await claimed(store, 'given back')
  const since = Date.now() - 7 * 86_400_000
  const keys = Array.from({ length: 1_000 }, (_, index) => `call-${index}`)
  const steps: Record<string, () => Promise<unknown>> = {
    forget: () => store.reap(200),
    count: async () => store.reapable?.(200),
    release: () => store.release(claim),
    'reap effects': () => store.effects.reap(200, 1_000),
    'reap testimonies': () => store.calls.reap(200, 1_000),
    'list calls': () => store.calls.list({ since, until: since + 86_400_000, limit: 1_000 }),
    'name calls': () => store.calls.named(keys),
    'done effects': () => store.effects.done({ since, limit: 1_000 }),
    'name effects': () => store.effects.named(keys),
  }
  const statements: Record<string, Sent | undefined> = {}
  for (const [name, step] of Object.entries(steps)) {
    sent.length = 0
    await step()
    statements[name] = name === 'release' ? sent.at(-1) : sent[0]
  }
  return statements
}
