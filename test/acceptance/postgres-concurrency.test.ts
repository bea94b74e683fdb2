import type { Verdict } from 'hapax'
import { beforeEach, describe, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { claimed, leaseMs, reservation } from './support/reservations.js'
import { type SchemaNode, type TestSchema, testSchema } from './support/test-schema.js'
import { noon } from './support/times.js'

/**
 * Requests of two nodes that want one row at the same instant. No luck is needed: a gate in the database holds all of
 * them at the statement that decides, until every one of them is there.
 */

const racersPerNode = 10
const gate = 1

onPostgres('two nodes that want the same', (url) => {
  let schema: TestSchema
  let nodes: readonly [SchemaNode, SchemaNode]
  beforeEach(async () => {
    schema = await testSchema(url)
    // Each by itself: in groups most of them would not come to the gate.
    const options = { max: racersPerNode, batching: 'off' } as const
    nodes = [await schema.node(options), await schema.node(options)]
    await schema.setTime(noon)
  })

  /** Lets every racer of both nodes come to the gate, then opens it. */
  async function raced<T>(at: 'INSERT' | 'UPDATE', racer: (node: SchemaNode) => Promise<T>): Promise<T[]> {
    await schema.sql(`CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock_shared(${gate}, '${schema.name}.records'::regclass::oid::integer); RETURN new; END $$`)
    await schema.sql(`CREATE TRIGGER gate BEFORE ${at} ON records FOR EACH ROW EXECUTE FUNCTION wait_at_gate()`)
    const keeper = await schema.client()
    const lock = `(${gate}, '${schema.name}.records'::regclass::oid::integer)`
    await keeper.query(`SELECT pg_advisory_lock${lock}`)
    const racing = nodes.flatMap((node) => Array.from({ length: racersPerNode }, () => racer(node)))
    await schema.untilWaiting(racing.length)
    await keeper.query(`SELECT pg_advisory_unlock${lock}`)
    return Promise.all(racing)
  }

  const kindsOf = (verdicts: readonly Verdict[]) => {
    const counts: Record<string, number> = {}
    for (const { kind } of verdicts) counts[kind] = (counts[kind] ?? 0) + 1
    return counts
  }

  test('of twenty at the INSERT one gets the row, and the others are told that it runs [S1-029 S1-030 S3-70]', async () => {
    const verdicts = await raced('INSERT', ({ store }) => store.reserve(reservation('k')))
    expect(kindsOf(verdicts)).toEqual({ reserved: 1, in_progress: 2 * racersPerNode - 1 })
    expect(await schema.row('k')).toMatchObject({ fence: '1', attempt: '1', revision: '1' })
    for (const { wire } of nodes) expect(wire.refusals).toEqual([])
  })

  test('of twenty handlers behind that INSERT one runs, and its rows are there once [S1-100 S2-077]', async () => {
    const ran: string[] = []
    const outcomes = await raced('INSERT', ({ hapax }) =>
      hapax
        .run({ scope: 'acme', key: 'k', policy: hapax.policy({ name: 'payments.create' }) }, (work) =>
          work.commit(async ({ tx }) => {
            ran.push('ran')
            await tx.query(`INSERT INTO ${schema.name}.payments (made_by) VALUES ('me')`)
            return 'paid'
          }),
        )
        .then(
          ({ replayed }) => (replayed ? 'replayed' : 'paid'),
          (error) => error.code,
        ),
    )
    expect(ran).toEqual(['ran'])
    expect(outcomes.filter((outcome) => outcome === 'paid')).toHaveLength(1)
    const others = new Set(outcomes.filter((outcome) => outcome !== 'paid'))
    for (const other of others) expect(['replayed', 'idempotency_key_in_progress']).toContain(other)
    expect(await schema.sql('SELECT made_by FROM payments')).toEqual([{ made_by: 'me' }])
  })

  test('of twenty that retry a failure one takes it over, by an UPDATE of the row that was judged [S2-104 S2-108 S3-35]', async () => {
    await nodes[0].store.fail(await claimed(nodes[0].store, reservation('k')), { errorCode: 'threw' })
    expect(await schema.row('k')).toMatchObject({ status: 'failed_retryable', locked_until: null })
    const verdicts = await raced('UPDATE', ({ store }) => store.reserve(reservation('k')))
    expect(kindsOf(verdicts)).toEqual({ resumed: 1, in_progress: 2 * racersPerNode - 1 })
    expect(await schema.row('k')).toMatchObject({ fence: '2', attempt: '2', locked_until: noon + leaseMs })
  })

  test('of twenty that find the lease over one writes the doubt, due at once, and nothing runs [S2-098 S2-106 S2-110]', async () => {
    await claimed(nodes[0].store, reservation('k'))
    await schema.setTime(noon + leaseMs)
    const verdicts = await raced('UPDATE', ({ store }) => store.reserve(reservation('k')))
    expect(kindsOf(verdicts)).toEqual({ unknown: 2 * racersPerNode })
    expect(await schema.row('k')).toMatchObject({
      status: 'unknown',
      fence: '1',
      revision: '2',
      reconcile_after: noon + leaseMs,
      last_error_code: 'in_progress_lock_expired',
    })
  })

  test('of twenty that find a stale lock which may be taken over, one takes it [S3-38]', async () => {
    const mayResume = { onLeaseOver: 'resume', leaseMs: 90_000 } as const
    await claimed(nodes[0].store, reservation('k', mayResume))
    await schema.setTime(noon + 89_999)
    expect((await nodes[1].store.reserve(reservation('k', mayResume))).kind).toBe('in_progress')
    await schema.setTime(noon + 90_000)
    const verdicts = await raced('UPDATE', ({ store }) => store.reserve(reservation('k', mayResume)))
    expect(kindsOf(verdicts)).toEqual({ resumed: 1, in_progress: 2 * racersPerNode - 1 })
    expect(await schema.row('k')).toMatchObject({ fence: '2', locked_until: noon + 180_000 })
  })

  describe('the sweeper', () => {
    test('passes by a row that somebody holds, and takes the others, in batches [S2-107]', async () => {
      const keys = ['a', 'b', 'c', 'd']
      for (const key of keys) await claimed(nodes[0].store, reservation(key))
      await schema.setTime(noon + leaseMs)
      const holder = await schema.client()
      await holder.query('BEGIN')
      await holder.query(`SELECT 1 FROM records WHERE idempotency_key = 'b' FOR UPDATE`)
      const swept = async (node: SchemaNode, limit: number) => (await node.store.sweep(limit)).map(({ key }) => key)
      expect(await swept(nodes[0], 2)).toHaveLength(2)
      expect(await swept(nodes[1], 10)).toHaveLength(1)
      expect(await schema.row('b')).toMatchObject({ status: 'in_progress' })
      await holder.query('ROLLBACK')
      expect(await swept(nodes[1], 10)).toEqual(['b'])
      for (const key of keys)
        expect(await schema.row(key)).toMatchObject({
          status: 'unknown',
          reconcile_after: noon + leaseMs,
          last_error_code: 'in_progress_lock_expired',
        })
    })

    test('is two at once without a row in common', async () => {
      const keys = Array.from({ length: 60 }, (_, number) => `k${number}`)
      await Promise.all(keys.map((key) => claimed(nodes[0].store, reservation(key))))
      await schema.setTime(noon + leaseMs)
      const swept = await Promise.all(
        Array.from({ length: 12 }, (_, number) => nodes[number % 2 === 0 ? 0 : 1].store.sweep(10)),
      )
      const rest = await nodes[0].store.sweep(100)
      const all = [...swept.flat(), ...rest].map(({ key }) => String(key))
      expect(all.sort()).toEqual(keys.sort())
    })
  })
})
