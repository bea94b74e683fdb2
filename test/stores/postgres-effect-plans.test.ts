import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { planOf, readInVain, scansOf } from '../support/postgres-plan.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, fillEffects, freshSchema } from '../support/postgres-schema.js'

/** On an outbox of 200,000 analysed effects every statement walks an index, however many of them are done. */

const leaseMs = 10_000
const kinds = ['kind-1', 'kind-2']

onPostgres('on an outbox of 200,000 effects', (url) => {
  let given: FreshSchema
  let sent: Record<string, Sent | undefined>

  beforeAll(async () => {
    given = await freshSchema(url)
    await fill(given, {
      count: 20_000,
      key: `'key-' || i`,
      status: `CASE i % 100 WHEN 0 THEN 'unknown' ELSE 'completed' END`,
    })
    await fillEffects(given, 200_000)
    for (const table of ['records', 'effects', 'effect_states'])
      await given.owner.query(`VACUUM (ANALYZE) ${given.schema}.${table}`)
    sent = await statementsOf(given)
  }, 60_000)

  afterAll(() => given?.dispose())

  test.each([
    ['effects are claimed', 'claim'],
    ['a call begins', 'begin'],
    ['leases are renewed', 'renew'],
    ['a result is kept', 'record'],
    ['claims end', 'settle'],
    ['the sweeper looks', 'sweep'],
    ['doubts are looked at', 'doubts'],
    ['a doubt is resolved', 'resolve'],
    ['an effect is found', 'find'],
    ['an effect is found by its key', 'findByKey'],
    ['somebody testifies', 'testify'],
    ['the dead are listed', 'list'],
    ['the dead are redriven', 'redrive'],
  ])('when %s, no table is read through', async (_, statement) => {
    const plan = await planOf(given, sent[statement], 'custom')
    expect(scansOf(plan).length).toBeGreaterThan(0)
    expect(scansOf(plan).filter((scan) => scan.startsWith('Seq Scan'))).toEqual([])
  })

  test('a worker that claims reads hardly more than what it gets', async () => {
    const plan = await planOf(given, sent.claim, 'custom', 'ANALYZE, ')
    expect(scansOf(plan)).toContain('Index Scan on effect_states_live')
    // Three kinds in five are not asked for, and some of an order are held up.
    expect(readInVain(plan)).toBeLessThan(1_000)
  })
})

/** Lets a store do everything once, and keeps what it sent. */
async function statementsOf({ owner, schema }: FreshSchema): Promise<Record<string, Sent | undefined>> {
  const { pool, sent } = recorded(owner)
  const { effects, calls } = postgresStore({ pool, schema, connection: 'direct' })
  if (effects === undefined || calls === undefined) throw new Error('a PostgreSQL store has an outbox')
  const result = { providerId: 'p', result: Buffer.from('{}') }
  const claims = await effects.claim({ kinds, limit: 100, leaseMs })
  const [first = { id: 0, fence: 0 }] = claims
  const steps: Record<string, () => Promise<unknown>> = {
    claim: () => effects.claim({ kinds, limit: 100, leaseMs }),
    begin: () => effects.begin(first, leaseMs),
    renew: () => effects.renew(claims, leaseMs),
    record: () => effects.record(first, result),
    settle: () => effects.settle(claims.map((claim) => ({ claim, outcome: { kind: 'done', ...result } }))),
    sweep: () => effects.sweep(100),
    doubts: () => effects.doubts({ kinds, limit: 100, holdMs: 1_000 }),
    resolve: () => effects.resolve(first, { kind: 'not_landed' }),
    find: () => effects.find(first.id),
    findByKey: () => effects.findByKey('down-7'),
    testify: () => calls.testify({ downstreamKey: 'down-7', says: 'landed', by: 'operator:ann', why: 'the bill' }),
    list: () => effects.list({ state: 'dead', limit: 100 }),
    redrive: () => effects.redrive([first.id]),
  }
  const statements: Record<string, Sent | undefined> = {}
  for (const [name, step] of Object.entries(steps)) {
    sent.length = 0
    await step()
    statements[name] = sent[0]
  }
  return statements
}
