import { effects, engine, scopeOf } from 'hapax'
import { type Admin, admin } from 'hapax/admin'
import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { actionsOf, type Ground } from '../../bench/admin/actions.js'
import { subjectOfRecord } from '../../dist/engine/deeds.js'
import { afterOf } from '../../dist/engine/listing.js'
import { onPostgres } from '../support/on-postgres.js'
import { planOf, scansOf } from '../support/postgres-plan.js'
import { recorded, type Sent } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, fillEffects, freshSchema } from '../support/postgres-schema.js'

/** On 200,000 analysed rows nothing that an operator asks for reads a table through. */

const rows = 200_000
const scope = scopeOf('tenant-7')
const hour = 3_600_000

onPostgres('what operators ask for, on 200,000 rows', (url) => {
  let given: FreshSchema
  let sent: Record<string, Sent | undefined>

  beforeAll(async () => {
    given = await freshSchema(url)
    await fill(given, {
      count: rows,
      key: `'key-' || i`,
      scope: `'tenant-' || i % 500 || CASE WHEN i % 3 = 0 THEN ';principal=u' || i % 7 ELSE '' END`,
      status: `CASE WHEN i % 100 < 80 THEN 'completed' WHEN i % 100 < 95 THEN 'expired' WHEN i % 100 < 97 THEN 'in_progress'
        WHEN i % 100 < 99 THEN 'failed_retryable' ELSE 'unknown' END`,
      lockedUntil: `now() + (i % 3000 - 300) * interval '10 milliseconds'`,
    })
    await given.owner.query(
      `UPDATE ${given.schema}.records SET created_at = now() - (${rows} - id) * interval '1 second'`,
    )
    await fillEffects(given, rows)
    await given.owner.query(`INSERT INTO ${given.schema}.calls (downstream_key, record_id, scope_id, operation, generation, phase, state, begun_at)
      SELECT 'call-' || i, i, 'tenant-7', 'rides.create', 1, 'charged', 'landed', now() FROM generate_series(1, 20000) i`)
    await given.owner.query(`INSERT INTO ${given.schema}.audit (sequence, at_ms, who, action, scope_id, subject, why, before, after, previous, hash)
      SELECT i, i, 'ann', 'purge', 'tenant-7', 'record:' || i, 'why', '{}', '{}', '', '' FROM generate_series(1, 20000) i`)
    await given.owner.query(`INSERT INTO ${given.schema}.audit_head (one, sequence, hash) VALUES (1, 20000, '')`)
    await given.owner.query(`INSERT INTO ${given.schema}.testimonies (downstream_key, says, said_by, why, said_at)
      SELECT 'call-' || i, 'landed', 'webhook', 'told so', now() FROM generate_series(1, 20000) i`)
    for (const table of ['records', 'effects', 'effect_states', 'calls', 'testimonies', 'audit'])
      await given.owner.query(`VACUUM (ANALYZE) ${given.schema}.${table}`)
    sent = await statementsOf(given)
  }, 120_000)

  afterAll(() => given?.dispose())

  test.each([
    ['everything', ['records_pkey']],
    ['a tenant', ['records_live', 'records_buried']],
    ['a scope', ['records_live', 'records_buried']],
    ['a key', ['records_key', 'records_open', 'records_resumable']],
    ['a name', ['records_digest']],
    ['a beginning of keys', ['records_key', 'records_open', 'records_resumable']],
    ['unknown', ['records_unsettled', 'records_unknown']],
    ['unknown of a tenant', ['records_unsettled', 'records_unknown', 'records_live', 'records_buried']],
    ['in progress', ['records_open', 'records_resumable']],
    ['a status', ['records_pkey']],
    ['a resource', ['records_pkey']],
    ['a resource of a scope', ['records_live', 'records_buried']],
    ['the last hour', ['records_anew', 'records_pkey']],
    ['an hour of a scope', ['records_anew', 'records_pkey', 'records_live', 'records_buried']],
    ['tenants', ['records_live', 'records_buried']],
    ['calls of a record', ['calls_record']],
    ['effects of a record', ['effect_states_pkey', 'effects_pkey', 'effects_record_id_generation_phase_sequence_key']],
    ['effects of a tenant', ['effects_scope', 'effect_states_pkey', 'effects_pkey']],
    ['effects of a tenant that are leased', ['effects_scope', 'effect_states_pkey', 'effects_pkey']],
    ['dead effects of a tenant', ['effect_states_tenant', 'effects_pkey']],
    ['dead effects of a tenant, further on', ['effect_states_tenant', 'effects_pkey']],
    ['entries about a record', ['audit_subject']],
  ])('%s: only indexes are walked', async (name, indexes) => {
    const scans = scansOf(await planOf(given, sent[name], 'custom')).filter((scan) =>
      / on (records|calls|effects|effect_|audit)/.test(scan),
    )
    expect(scans.filter((scan) => scan.startsWith('Seq Scan'))).toEqual([])
    // Of a bitmap, the rows behind it are a scan of its table: its index is told apart.
    const used = scans.filter((scan) => !scan.startsWith('Bitmap Heap Scan')).map((scan) => scan.split(' on ')[1] ?? '')
    expect(used.filter((index) => !indexes.includes(index))).toEqual([])
  })

  test('nothing that operators do walks through a table, in any statement of it', async () => {
    const { pool, sent: statements } = recorded(given.owner)
    const store = postgresStore({ pool, schema: given.schema, connection: 'direct' })
    const hapax = engine({
      store,
      effects: effects(Object.fromEntries(kinds.map((kind) => [kind, { call: async () => 'done' }]))),
    })
    const desk = admin({ hapax })
    const actions = Object.entries(actionsOf(desk, ground()))
    for (const [name, { run }] of actions) {
      statements.length = 0
      await run()
      for (const statement of statements) {
        const scans = scansOf(await planOf(given, statement, 'custom')).filter((scan) => scan.startsWith('Seq Scan'))
        expect(
          scans.filter((scan) => large.test(scan)),
          `${name}: ${statement.text}`,
        ).toEqual([])
      }
    }
    const asked = new Set<string>(actions.map(([, { method }]) => method))
    const fromMemory: readonly (keyof Admin)[] = ['routes', 'workers', 'close']
    expect(Object.keys(desk).filter((method) => !asked.has(method))).toEqual(fromMemory)
    desk.close()
    await hapax.close()
  }, 120_000)

  test('a page of effects that finds nothing has looked at a bounded number, and goes on behind them', async () => {
    const { effects: outbox } = given.node().store
    const first = await outbox.list({ kind: 'nobody', limit: 10 })
    expect(first).toEqual({ effects: [], next: '5000' })
    expect(await outbox.list({ kind: 'nobody', limit: 10, after: '195000' })).toEqual({ effects: [], next: '200000' })
    expect(await outbox.list({ kind: 'nobody', limit: 10, after: '195001' })).toEqual({ effects: [], next: undefined })
  })

  test('a page of the effects of a tenant walks past no others, and ends at one of its own', async () => {
    const { effects: outbox } = given.node().store
    const own = await outbox.list({ tenant: 'tenant-99', state: 'leased', limit: 10 })
    expect(own).toEqual({ effects: [], next: undefined })
    const dead = await outbox.list({ tenant: 'tenant-99', state: 'dead', limit: 10 })
    expect(dead.effects.map(({ scope }) => scope)).toEqual(Array(10).fill('tenant-99'))
    const rest = await outbox.list({ tenant: 'tenant-99', state: 'dead', limit: 1_000, after: dead.next ?? '' })
    expect(rest).toMatchObject({ next: undefined })
    expect(rest.effects.length + 10).toBe(rows / 500)
  })

  test('a page that finds nothing has looked at a bounded number, and goes on behind them', async () => {
    const { store } = given.node()
    const first = await store.list({ status: 418, limit: 10 })
    expect(first).toMatchObject({ records: [], next: '5000' })
    expect((await store.list({ status: 418, limit: 10, after: '5000' })).next).toBe('10000')
  })

  test('a time is found among the ids: a page of an hour holds an hour', async () => {
    const { store } = given.node()
    const now = Number((await given.owner.query('SELECT round(extract(epoch FROM now()) * 1000) AS now')).rows[0].now)
    const { records, next } = await store.list({ since: now - 11 * hour, until: now - 10 * hour, limit: 1_000 })
    expect(records).toHaveLength(1_000)
    expect(records.every(({ createdAt }) => createdAt >= now - 11 * hour && createdAt < now - 10 * hour)).toBe(true)
    expect(next).toBeDefined()
  })
})

const kinds = ['kind-0', 'kind-1', 'kind-2', 'kind-3', 'kind-4']

/** Tables that grow with what was done. The others have a row or two. */
const large = / on (records|calls|testimonies|effects|effect_states|audit)$/

/** As `fill` has made it: of a hundred records the last is unknown, and so on. */
function ground(): Ground {
  const every = (first: number) => {
    let next = first - 100
    return () => {
      next += 100
      return next
    }
  }
  const [completed, unknown] = [every(1), every(99)]
  const named = (i: number) => ({
    scope: `tenant-${i % 500}${i % 3 === 0 ? `;principal=u${i % 7}` : ''}`,
    key: `key-${i}`,
  })
  return {
    tenant: 'tenant-7',
    key: 'key-77',
    prefix: 'key-77',
    resource: '/payments/7',
    operation: 'payments.create',
    kind: 'kind-1',
    now: Date.now(),
    completed: () => named(completed()),
    unknown: () => named(unknown()),
    dead: every(99),
    doubted: every(98),
  }
}

async function statementsOf(given: FreshSchema): Promise<Record<string, Sent | undefined>> {
  const { pool, sent } = recorded(given.owner)
  const store = postgresStore({ pool, schema: given.schema, connection: 'direct' })
  const during = async (step: () => Promise<unknown>) => {
    sent.length = 0
    await step()
    return sent[0]
  }
  const list = (query: object) => during(() => store.list({ order: 'newest', limit: 50, ...query }))
  const since = Date.now() - hour
  const tenant = 'tenant-99'
  return {
    everything: await list({}),
    'a tenant': await list({ tenant: 'tenant-7' }),
    'a scope': await list({ scope }),
    'a key': await list({ key: { is: 'key-77' } }),
    'a name': await list({ scope, key: { is: 'key-7' } }),
    'a beginning of keys': await list({ key: { startsWith: 'key-77' } }),
    unknown: await list({ state: 'unknown' }),
    'unknown of a tenant': await list({ state: 'unknown', tenant: 'tenant-7' }),
    'in progress': await list({ state: 'in_progress' }),
    'a status': await list({ status: 402 }),
    'a resource': await list({ resource: '/payments/7' }),
    'a resource of a scope': await list({ scope, resource: '/payments/7' }),
    'the last hour': await list({ since }),
    'an hour of a scope': await list({ scope, since: since - hour, until: since }),
    tenants: await during(() => store.tenants({ limit: 50 })),
    'calls of a record': await during(() => store.calls.list({ record: 7, limit: 50 })),
    'effects of a record': await during(() => store.effects.list({ record: 7, limit: 50 })),
    'effects of a tenant': await during(() => store.effects.list({ tenant, limit: 50 })),
    'effects of a tenant that are leased': await during(() =>
      store.effects.list({ tenant, state: 'leased', limit: 50 }),
    ),
    'dead effects of a tenant': await during(() => store.effects.list({ tenant, state: 'dead', limit: 50 })),
    'dead effects of a tenant, further on': await during(() =>
      store.effects.list({ tenant, state: 'dead', limit: 50, after: afterOf({ by: tenant, id: 1_000 }) }),
    ),
    'entries about a record': await during(() =>
      store.audit.list({ subject: subjectOfRecord({ scope, key: 'key-7' as never }), limit: 50 }),
    ),
  }
}
