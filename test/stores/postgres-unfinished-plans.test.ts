import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { planOf, readInVain, scansOf } from '../support/postgres-plan.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, freshSchema } from '../support/postgres-schema.js'

/** On 200,000 records whoever looks for what nobody goes on with walks one small index, and no more of it than he takes. */

const rows = 200_000
const most = 200

onPostgres('on 200,000 records, of which some are unfinished', (url) => {
  let given: FreshSchema
  let sent: Sent | undefined

  beforeAll(async () => {
    given = await freshSchema(url)
    const { owner, schema } = given
    await fill(given, {
      count: rows,
      key: `'key-' || i`,
      status: `CASE WHEN i % 100 < 90 THEN 'completed' WHEN i % 100 < 95 THEN 'in_progress' WHEN i % 100 < 98 THEN 'failed_retryable'
        ELSE 'unknown' END`,
      lockedUntil: `now() - interval '1 minute'`,
      expiresAt: `now() + (i % 1440 - 720) * interval '1 minute'`,
    })
    await owner.query(
      `UPDATE ${schema}.records SET on_lease_over = 'resume' WHERE status = 'in_progress' AND id % 5 = 0`,
    )
    await owner.query(
      `UPDATE ${schema}.records SET recovery_point = 'charged' WHERE status = 'failed_retryable' AND id % 3 = 0`,
    )
    await owner.query(`VACUUM (ANALYZE) ${schema}.records`)
    const { pool, sent: all } = recorded(owner)
    await postgresStore({ pool, schema, connection: 'direct' }).abandon({ operations: ['rides.create'], limit: most })
    sent = all[0]
  }, 60_000)

  afterAll(() => given?.dispose())

  test.each(['custom', 'generic'] as const)('no row is read in vain, by a %s plan', async (kind) => {
    const plan = await planOf(given, sent, kind, 'ANALYZE, ')
    expect(scansOf(plan)).toEqual(['Index Scan on records_unfinished', 'Index Scan on records_pkey'])
    expect(readInVain(plan)).toBe(0)
  })

  test('what ends as usual, or in doubt, is not in the index', async () => {
    const { owner, schema } = given
    const { rows: unfinished } = await owner.query(
      `SELECT count(*)::int AS entries FROM ${schema}.records WHERE on_lease_over = 'resume' OR recovery_point = 'charged'`,
    )
    const index = `${schema}.records_unfinished`
    const { rows: conditions } = await owner.query(
      'SELECT pg_get_expr(indpred, indrelid) AS condition FROM pg_index WHERE indexrelid = $1::regclass',
      [index],
    )
    const { rows: indexed } = await owner.query(
      `SELECT count(*)::int + ${most} AS entries FROM ${schema}.records WHERE ${conditions[0].condition}`,
    )
    expect(indexed).toEqual(unfinished)
  })
})
