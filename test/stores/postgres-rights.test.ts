import { type Claim, keyOf, type Reservation, scopeOf, type Verdict } from 'hapax'
import { migratePostgres, type PostgresStore, postgresRights, type RowSecurity } from 'hapax/postgres'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { answer, completion } from '../../dist/conformance/given.js'
import { type ClientLibrary, pgLibrary, postgresJs } from '../conformance/postgres-libraries.js'
import { onPostgres } from '../support/on-postgres.js'
import { asRole, freshName, pinnedClock } from '../support/postgres-schema.js'
import { until } from '../support/waiting.js'
import { reservation } from './given.js'

/** Least privilege: a role owns the schema and migrates it, and another one serves and owns nothing. */

const noon = Date.UTC(2026, 0, 2, 12)
const minute = 60_000

function asked(key: string, changes: Partial<Reservation> = {}): Reservation {
  return reservation(key, { leaseMs: minute, retentionMs: 60 * minute, tombstoneMs: 60 * minute, ...changes })
}

onPostgres('least privilege', (url) => {
  for (const rowSecurity of ['off', 'scope'] as const)
    for (const library of [pgLibrary, postgresJs] as const)
      test(`the whole life of a key needs no more than the rights of serving, by ${library.name}, row security ${rowSecurity}`, async () => {
        const { store, setTime, business } = await serving(library as ClientLibrary<unknown>, rowSecurity)
        await store.open()
        await aLife(store, setTime)
        const claim = taken(await store.reserve(asked('in one commit')))
        await store.transaction(claim, async (tx) => {
          await library.insert(tx as never, business, 'a ride')
          return { value: undefined, write: { kind: 'complete', ...completion('ride 7') } }
        })
        expect(await store.reserve(asked('in one commit'))).toMatchObject({ kind: 'completed' })
      })

  test.each([
    ['create a table', 'CREATE TABLE hapax.mine (a int)'],
    ['create a function', 'CREATE FUNCTION hapax.mine() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$'],
    [
      'replace the clock',
      'CREATE OR REPLACE FUNCTION hapax.clock() RETURNS timestamptz LANGUAGE sql AS $$ SELECT now() $$',
    ],
    ['alter the records', 'ALTER TABLE hapax.records ADD COLUMN mine int'],
    ['make the records unlogged', 'ALTER TABLE hapax.records SET UNLOGGED'],
    ['add an index', 'CREATE INDEX ON hapax.records (status)'],
    ['drop the records', 'DROP TABLE hapax.records'],
    ['truncate the records', 'TRUNCATE hapax.records'],
    ['lift row security', 'ALTER TABLE hapax.records DISABLE ROW LEVEL SECURITY'],
    ['add a policy', 'CREATE POLICY mine ON hapax.records USING (true)'],
    [
      'add a trigger',
      'CREATE TRIGGER mine BEFORE INSERT ON hapax.records EXECUTE FUNCTION suppress_redundant_updates_trigger()',
    ],
    ['refer to the records', 'CREATE TEMP TABLE mine (id bigint REFERENCES hapax.records)'],
    ['drop the schema', 'DROP SCHEMA hapax CASCADE'],
    ['say that a migration was applied', `INSERT INTO hapax.migrations (version, name) VALUES (999, 'mine')`],
    ['take a migration back', 'DELETE FROM hapax.migrations'],
    ['give its rights away', 'GRANT SELECT ON hapax.records TO PUBLIC'],
  ])('the role that serves may not %s', async (_what, statement) => {
    const { pool, schema, owner } = await serving(pgLibrary, 'off')
    const { rows: before } = await owner.query(grants, [schema])
    const outcome = await pool.query(statement.replaceAll('hapax', schema)).then(
      () => 'done',
      (error: { code: string }) => error.code,
    )
    // A GRANT without the right to grant is a warning that grants nothing.
    expect(statement.startsWith('GRANT') ? ['done', '42501'] : ['42501', '42P16']).toContain(outcome)
    expect((await owner.query(grants, [schema])).rows).toEqual(before)
  })

  test('rights may be given again after every migration, and again', async () => {
    const { owner, schema, role, store } = await serving(pgLibrary, 'scope')
    await migratePostgres({ pool: owner, schema })
    for (const statement of postgresRights({ role, schema, rowSecurity: 'scope' })) await owner.query(statement)
    await store.open()
  })

  test('under row security a statement that names no scope sees and changes nothing', async () => {
    const { store, pool, schema } = await serving(pgLibrary, 'scope')
    taken(await store.reserve(asked('k')))
    for (const session of ['SELECT 1', `SET hapax.scope = ''`, 'RESET hapax.scope']) {
      const { counted, deleted } = await raw(pool, schema, session)
      expect({ session, counted, deleted }).toEqual({ session, counted: 0, deleted: 0 })
    }
    await expect(pool.query(insertFor(schema, 'acme', 'planted'))).rejects.toMatchObject({ code: '42501' })
    expect(await store.find({ scope: scopeOf('acme'), key: keyOf('k') })).toBeDefined()
  })

  test('under row security one scope never reaches the records of another, whatever its statement says', async () => {
    const { store, pool, schema } = await serving(pgLibrary, 'scope')
    taken(await store.reserve(asked('k')))
    taken(await store.reserve(asked('k', { scope: scopeOf('rival') })))
    const seen = await alone(pool, `SET hapax.scope = 'acme'`, (client) =>
      client.query(`SELECT scope_id FROM ${schema}.records`),
    )
    expect(seen.rows).toEqual([{ scope_id: 'acme' }])
    expect(await raw(pool, schema, `SET hapax.scope = 'rival'`)).toEqual({ counted: 1, deleted: 1, scopes: ['rival'] })
    await expect(
      alone(pool, `SET hapax.scope = 'rival'`, (client) => client.query(insertFor(schema, 'acme', 'planted'))),
    ).rejects.toMatchObject({ code: '42501' })
    const { records } = await store.list({ limit: 10 })
    expect(records.map(({ scope, key }) => [scope, key])).toEqual([['acme', 'k']])
  })

  test.each(['%', '*', '_', `'`, 'acme%', '%25'])(
    'under row security a tenant named %j sees its own records and no others',
    async (tenant) => {
      const { store, pool, schema } = await serving(pgLibrary, 'scope')
      const scope = scopeOf(tenant)
      taken(await store.reserve(asked('k')))
      taken(await store.reserve(asked('k', { scope })))
      expect((await store.list({ scope, limit: 10 })).records.map((record) => record.scope)).toEqual([scope])
      expect(await store.find({ scope, key: keyOf('k') })).toMatchObject({ scope })
      const seen = await raw(pool, schema, `SELECT set_config('hapax.scope', '${scope.replaceAll("'", "''")}', false)`)
      expect(seen).toEqual({ counted: 1, deleted: 1, scopes: [scope] })
    },
  )

  /** Who creates schemas here is no superuser, and owns nothing but them. */
  const database = freshName()
  const ownerName = `${database}_owner`
  const admin = new pg.Pool({ connectionString: url, max: 1 })
  const owner = new pg.Pool({ connectionString: urlOf(ownerName), max: 1 })

  beforeAll(async () => {
    await admin.query(`CREATE ROLE ${ownerName} LOGIN`)
    await admin.query(`CREATE DATABASE ${database}`)
    await admin.query(`GRANT CREATE ON DATABASE ${database} TO ${ownerName}`)
  })

  afterAll(async () => {
    await owner.end()
    const open = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1`
    await until(
      async () => (await admin.query(open, [database])).rows[0].count,
      (count) => count === 0,
    )
    await admin.query(`DROP DATABASE ${database}`)
    await admin.query(`DROP ROLE ${ownerName}`)
    await admin.end()
  })

  /** A schema, and a role that got what `postgresRights` says and nothing else. */
  async function serving<Tx>(library: ClientLibrary<Tx>, rowSecurity: RowSecurity) {
    const schema = freshName()
    const role = `${schema}_serving`
    await admin.query(`CREATE ROLE ${role} LOGIN`)
    await migratePostgres({ pool: owner, schema })
    for (const statement of postgresRights({ role, schema, rowSecurity })) await owner.query(statement)
    const setTime = async (ms: number) => {
      await owner.query(pinnedClock(schema, ms))
    }
    await setTime(noon)
    const business = `${schema}.rides`
    await owner.query(`CREATE TABLE ${business} (name text NOT NULL)`)
    await owner.query(`GRANT INSERT ON ${business} TO ${role}`)
    const pool = new pg.Pool({ connectionString: urlOf(role), max: 1 })
    const node = library.connect(urlOf(role), { schema, rowSecurity })
    onTestFinished(async () => {
      await Promise.all([node.end(), pool.end()])
      await owner.query(`DROP SCHEMA ${schema} CASCADE`)
      await admin.query(`DROP ROLE ${role}`)
    })
    return { schema, role, owner, pool, store: node.store, setTime, business }
  }

  function urlOf(role: string): string {
    const named = new URL(asRole(url, role))
    named.pathname = database
    return named.href
  }
})

/** Every step of the port, on records that only they have touched. */
async function aLife<Tx>(store: PostgresStore<Tx>, setTime: (ms: number) => Promise<void>): Promise<void> {
  const claim = taken(await store.reserve(asked('lived')))
  expect(await store.renew(claim, minute)).toBe(true)
  const phase = { recoveryPoint: 'ride_created', onLeaseOver: 'doubt', leaseMs: minute } as const
  expect(await store.checkpoint(claim, phase)).toBe(true)
  expect(await store.complete(claim, completion('done'))).toBeTruthy()
  expect(await store.reserve(asked('lived'))).toMatchObject({ kind: 'completed', answer: answer('done') })

  const refused = taken(await store.reserve(asked('refused')))
  expect(await store.release(refused)).toBe(true)

  const failed = taken(await store.reserve(asked('failed')))
  expect(await store.fail(failed, { errorCode: 'handler_failed' })).toBe(true)
  const again = await store.reserve(asked('failed'))
  expect(again).toMatchObject({ kind: 'resumed', claim: { fence: 2 } })

  const doubted = taken(await store.reserve(asked('doubted')))
  expect(await store.doubt(doubted, { errorCode: 'timeout', reconcileAfterMs: 0 })).toBe(true)
  const outcome = { kind: 'not_landed' } as const
  const evidence = { by: 'operator:7', why: 'the provider knows nothing of it' }
  expect(await store.settle(doubted, { generation: 1, evidence, outcome })).toBe(true)

  taken(await store.reserve(asked('crashed')))
  await setTime(noon + 2 * minute)
  const swept = await store.sweep(10)
  expect(swept.map(({ key }) => key).sort()).toEqual(['crashed', 'failed'])

  await setTime(noon + 3 * 60 * minute)
  expect(await store.reap(10)).toEqual({ buried: 2, deleted: 0 })
  await setTime(noon + 5 * 60 * minute)
  expect(await store.reap(10)).toEqual({ buried: 0, deleted: 2 })

  const { records } = await store.list({ scope: scopeOf('acme'), state: 'unknown', limit: 10 })
  expect(records.map(({ key }) => key).sort()).toEqual(['crashed', 'failed'])
  expect(await store.find({ scope: scopeOf('acme'), key: keyOf('lived') })).toBeUndefined()
}

/** Only what nobody had before is taken so. */
function taken(verdict: Verdict): Claim {
  if (verdict.kind !== 'reserved') throw new Error(`The key was not reserved: ${verdict.kind}`)
  return verdict.claim
}

const grants = `SELECT relname, relacl::text FROM pg_class WHERE relnamespace = $1::regnamespace ORDER BY relname`

/** One session of the role that serves, which is never used again. */
async function alone<T>(pool: pg.Pool, session: string, body: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query(session)
    return await body(client)
  } finally {
    client.release(true)
  }
}

/** What raw SQL reaches, without a word about scopes in it. Leaves what it may delete deleted. */
function raw(pool: pg.Pool, schema: string, session: string) {
  return alone(pool, session, async (client) => {
    const { rows } = await client.query(`SELECT scope_id FROM ${schema}.records`)
    const { rowCount } = await client.query(`DELETE FROM ${schema}.records`)
    return { counted: rows.length, deleted: rowCount, scopes: rows.map((row) => row.scope_id) }
  })
}

function insertFor(schema: string, scope: string, key: string): string {
  return `INSERT INTO ${schema}.records (digest, scope_id, idempotency_key, claim_id, operation, request_fingerprint,
    on_lease_over, tombstone_ms, locked_until, expires_at, generation, fence, attempt, status, recovery_point, evidence,
    created_at, last_run_at) VALUES (${schema}.digest('${scope}', '${key}'), '${scope}', '${key}', 'c', 'o', 'f', 'doubt', 0,
    now(), now(), 1, 1, 1, 'in_progress', 'started', '[]', now(), now())`
}
