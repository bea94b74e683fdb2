import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { type Plan, planOf, scansOf } from '../support/postgres-plan.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, fillEffects, freshSchema } from '../support/postgres-schema.js'

/** However many rows there are, what is measured for gauges takes a bounded walk along indexes. */

const rows = 200_000
/** Far fewer than there are of any kind: where it is nearly all of them, a planner may as well read all of an index. */
const bound = 1_000

onPostgres('on 200,000 rows', (url) => {
  let given: FreshSchema
  let sent: Sent | undefined
  let keys = 0

  beforeAll(async () => {
    given = await freshSchema(url)
    await fill(given, {
      count: rows,
      key: `'key-' || i`,
      scope: `'tenant-' || i % 500`,
      status: `CASE WHEN i % 100 < 60 THEN 'expired' WHEN i % 100 < 70 THEN 'in_progress'
        WHEN i % 100 < 80 THEN 'unknown' ELSE 'completed' END`,
    })
    await fillEffects(given, rows)
    for (const table of ['records', 'effects', 'effect_states'])
      await given.owner.query(`VACUUM (ANALYZE) ${given.schema}.${table}`)
    const { pool, sent: heard } = recorded(given.owner)
    keys = (await postgresStore({ pool, schema: given.schema, connection: 'direct' }).measure?.(bound))?.keys ?? 0
    sent = heard.at(-1)
  }, 60_000)

  afterAll(() => given?.dispose())

  test.each(['custom', 'generic'] as const)('only indexes are walked, by a %s plan', async (kind) => {
    const scans = scansOf(await planOf(given, sent, kind)).filter((scan) => !scan.includes('pg_class'))
    expect(new Set(scans.map((scan) => scan.split(' on ')[1]))).toEqual(
      new Set([
        'records_open',
        'records_resumable',
        'records_unknown',
        'records_live',
        'effect_states_live',
        'effect_states_waiting',
        'effect_states_listed',
        'effect_states_doubts',
      ]),
    )
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([])
  })

  test('no part of it reads more rows than it may count', async () => {
    const plan = await planOf(given, sent, 'custom', 'ANALYZE, ')
    expect(Math.max(...rowsRead(plan))).toBeLessThanOrEqual(bound)
  })

  test('more keys than are counted are estimated', () => {
    expect(keys).toBeGreaterThan(0.35 * rows)
    expect(keys).toBeLessThan(0.45 * rows)
  })
})

/** What each scan of the plan gave and threw away. */
function rowsRead(plan: Plan & { readonly 'Actual Rows'?: number }): readonly number[] {
  const inner = (plan.Plans ?? []).flatMap(rowsRead)
  if (!plan['Node Type'].endsWith('Scan')) return inner
  return [(plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0), ...inner]
}
