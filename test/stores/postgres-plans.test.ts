import { type Claim, scopeOf } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkpoint, completion, leaseMs } from '../../dist/conformance/given.js'
import { onPostgres } from '../support/on-postgres.js'
import { type Plan, planOf, readInVain } from '../support/postgres-plan.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, fillEffects, freshSchema } from '../support/postgres-schema.js'
import { claimed, reservation } from './given.js'

/** On 200,000 analysed rows every statement that the store sends walks an index, and the one that was made for it. */

const rows = 200_000
const largestBatch = 1_000

/** What a table looks like after a while: mostly answers, some of them past retention, tombstones, and a little under way. */
const mix = {
  key: `'key-' || i`,
  scope: `'tenant-' || i % 500`,
  status: `CASE WHEN i % 100 < 80 THEN 'completed' WHEN i % 100 < 95 THEN 'expired' WHEN i % 100 < 97 THEN 'in_progress'
    WHEN i % 100 < 99 THEN 'failed_retryable' ELSE 'unknown' END`,
  lockedUntil: `now() + (i % 3000 - 300) * interval '10 milliseconds' + interval '1 minute' * (i % 20)`,
  expiresAt: `CASE WHEN i % 100 BETWEEN 80 AND 94 THEN now() - (i % 31) * interval '1 day'
    ELSE now() + (i % 1440 - 15) * interval '1 minute' END`,
  tombstoneMs: `${30 * 86_400_000}`,
} as const

onPostgres('on 200,000 rows', (url) => {
  let given: FreshSchema
  let sent: Record<string, Sent>

  beforeAll(async () => {
    given = await freshSchema(url)
    await fill(given, { count: rows, ...mix })
    await fillEffects(given, rows)
    for (const table of ['records', 'effects', 'effect_states'])
      await given.owner.query(`VACUUM (ANALYZE) ${given.schema}.${table}`)
    sent = await statementsOf(given)
  }, 60_000)

  afterAll(() => given?.dispose())

  const found = [{ node: 'Index Scan', index: 'records_digest' }]
  const batch = (index: string) => [
    { node: 'Index Scan', index },
    { node: 'Index Scan', index: 'records_pkey' },
  ]
  const ofOpenEffects = [
    { node: 'Index Scan', index: 'effects_record_id_generation_phase_sequence_key' },
    { node: 'Index Scan', index: 'effect_states_pkey' },
  ]
  const batches = [
    ['the sweeper looks', 'sweep', 'records_open'],
    ['the reaper buries', 'bury', 'records_expires'],
    ['the reaper deletes', 'forget', 'records_tombstones'],
  ] as const
  const both = ['records_live', 'records_buried'].map((index) => ({ node: 'Index Scan', index }))
  const cases = [
    ['a replay is read', 'find', found],
    ['a record is locked', 'lock', found],
    ['a record is written as judged', 'update', found],
    ['a lease is renewed', 'renew', found],
    ['an answer is stored', 'complete', found],
    ['the sweeper looks', 'sweep', batch('records_open')],
    ['the reaper buries', 'bury', [...batch('records_expires').toSpliced(1, 0, ...ofOpenEffects)]],
    ['a tenant is listed', 'list by scope', both],
    ['everything is listed', 'list', [{ node: 'Index Scan', index: 'records_pkey' }]],
    ['everything is listed by state', 'list by state', [{ node: 'Index Scan', index: 'records_pkey' }]],
  ] as const

  test('when a tenant is listed by state, its records are found by the index, however many are looked at', async () => {
    const scans = scansOf(await planOf(given, sent['list by scope and state'], 'custom'))
    expect(scans.flatMap(({ index }) => index ?? [])).toEqual(['records_live', 'records_buried'])
    expect(scans.map(({ node }) => node)).not.toContain('Seq Scan')
  })

  for (const kind of ['custom', 'generic'] as const) {
    test.each(['reserve', 'read', 'renew', 'complete'])(
      `when a crowd comes to %s, the table is never read through, by a ${kind} plan`,
      async (step) => {
        const scans = tableScansOf(await planOf(given, sent[`crowd: ${step}`], kind))
        expect(scans.length).toBeGreaterThan(0)
        const byPlace = (scan: string) => scan.includes('Bitmap') || scan.includes('Tid Scan')
        expect(scans.filter((scan) => !byPlace(scan) && !scan.endsWith('records_digest'))).toEqual([])
      },
    )

    test(`when a key is reserved, the conflict is found in the unique index, by a ${kind} plan`, async () => {
      const plan = await planOf(given, sent.insert, kind)
      expect(plan).toMatchObject({ 'Conflict Resolution': 'NOTHING', 'Conflict Arbiter Indexes': ['records_digest'] })
      expect(scansOf(plan)).toEqual([{ node: 'Index Only Scan', index: 'records_digest' }])
    })

    test.each(batches)(`when %s, no row is read in vain, by a ${kind} plan`, async (_, statement, index) => {
      const plan = await planOf(given, sent[statement], kind, 'ANALYZE, ')
      expect(scansOf(plan).map((scan) => scan.index)).toContain(index)
      expect(readInVain(plan)).toBe(0)
    })

    test.each(cases)(`when %s, only the index is walked, by a ${kind} plan (%s)`, async (_, statement, scans) => {
      expect(scansOf(await planOf(given, sent[statement], kind))).toEqual(scans)
    })
  }
})

/** Lets a store do everything once, and keeps what it sent. */
async function statementsOf(given: FreshSchema): Promise<Record<string, Sent>> {
  const { pool, sent } = recorded(given.owner)
  const store = postgresStore({ pool, schema: given.schema, connection: 'direct' })
  const during = async (step: () => Promise<unknown>) => {
    sent.length = 0
    await step()
    return [...sent] as [Sent, ...Sent[]]
  }
  const first = await claimed(store, 'first')
  const second = await claimed(store, 'second')
  const third = await claimed(store, 'third')
  const [insert] = await during(() => store.reserve(reservation('fourth')))
  const [find] = await during(() => store.find(first))
  const [, update] = await during(() => store.checkpoint(first, checkpoint))
  const [lock] = await during(() =>
    store.transaction(first, async () => ({ value: 1, write: { kind: 'checkpoint', ...checkpoint } })),
  )
  const [renew] = await during(() => store.renew(first, leaseMs))
  const [complete] = await during(() => store.complete(second, completion()))
  const [, remove] = await during(() => store.release(third))
  const [sweep] = await during(() => store.sweep(largestBatch))
  const [forget, bury] = await during(() => store.reap(largestBatch))
  const crowd = Array.from({ length: 100 }, (_, index) => `crowd ${index}`)
  const together = async <T>(step: () => Promise<T>): Promise<Sent | undefined> =>
    (await during(step)).findLast(({ text }) => text.includes('bytea[]'))
  const claims: Claim[] = []
  const crowdReserve = await together(async () => {
    claims.push(...(await Promise.all(crowd.map((key) => claimed(store, key)))))
  })
  const crowdRead = await together(() => Promise.all(claims.map((claim) => store.find(claim))))
  const crowdRenew = await together(() => Promise.all(claims.map((claim) => store.renew(claim, leaseMs))))
  const crowdComplete = await together(() => Promise.all(claims.map((claim) => store.complete(claim, completion()))))
  const scope = scopeOf('tenant-7')
  const [all] = await during(() => store.list({ limit: 50 }))
  const [byScope] = await during(() => store.list({ scope, limit: 50 }))
  const [byState] = await during(() => store.list({ state: 'completed', limit: 50 }))
  const [byBoth] = await during(() => store.list({ scope, state: 'completed', limit: 50 }))
  return {
    insert,
    find,
    ...(update && { update }),
    lock,
    renew,
    complete,
    ...(remove && { remove }),
    sweep,
    forget,
    ...(bury && { bury }),
    list: all,
    'list by scope': byScope,
    'list by state': byState,
    'list by scope and state': byBoth,
    ...(crowdReserve && { 'crowd: reserve': crowdReserve }),
    ...(crowdRead && { 'crowd: read': crowdRead }),
    ...(crowdRenew && { 'crowd: renew': crowdRenew }),
    ...(crowdComplete && { 'crowd: complete': crowdComplete }),
  }
}

/** How the plan gets at rows, outermost first. A clock or a sub-select without a table is no scan. */
function scansOf(plan: Plan): readonly { readonly node: string; readonly index: string | undefined }[] {
  const inner = (plan.Plans ?? []).flatMap(scansOf)
  if (!plan['Node Type'].endsWith('Scan') || plan['Node Type'] === 'Subquery Scan') return inner
  return [{ node: plan['Node Type'], index: plan['Index Name'] }, ...inner]
}

/** How the plan gets at rows of the table or its indexes; what was asked for, and what was found before, is not counted. */
function tableScansOf(plan: Plan): readonly string[] {
  const { 'Node Type': node, 'Index Name': index, 'Relation Name': table } = plan
  const inner = (plan.Plans ?? []).flatMap(tableScansOf)
  if (!node.endsWith('Scan') || (index === undefined && table !== 'records')) return inner
  return [index === undefined ? node : `${node} on ${index}`, ...inner]
}
