import { createHash } from 'node:crypto'
import { migratePostgres, postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { migrations } from '../../src/stores/postgres/migrations/index.js'
import { onPostgres } from '../support/on-postgres.js'
import { asRole, connectionsOfTest, freshName, schemaOfTest } from '../support/postgres-schema.js'
import { rejection } from '../support/waiting.js'
import { claimed } from './given.js'

/** A store starts on the schema of its release, or says what to run. */

/** A released migration is never edited: somebody has already applied it. Add a new one instead. */
const released = {
  '0001-records': '94de0e1e9eb2e2797319d2359933eec61553eaf40e39e828bc35037c99e793ae',
  '0002-active-keys': '23e941be4dac492ea024df4f2c24799fd639b94ccc3e82a0ac46bba7404d68db',
  '0003-work': '23e9d3ad78e5dcd9da7479f7a1f2654b7cc887cf797ca6245966dc5d20bcaf6c',
  '0004-effects': 'bc71279b0b6cdfcd34caa3d765661fbbf9a93c3c81da4ba42b43607a17c121a1',
  '0005-inbox': '81cd55385c7e2dd0ac69d6c691be1d332d1d020c2a9ddfad12a8a5f44733e385',
  '0006-reaping': '81ad65ae5fb1b76c1733d1efb56c1d0f9590f7e187ce60730960a95042b35103',
  '0007-turns': '48dc3cc78b0bcb70ba5a893fc5fa3395d2fb42ee89186345bc75dcdc281803fc',
  '0008-fewer-indexes': '26eef9bb9a8810493fd6e94900d40283effa3ba96789063c8fe2f1e218aac4c4',
  '0009-traces': 'e96d7672b3d528065bf8d77765e9d20184afa3a9efb58296a1d877ae164f274e',
  '0010-audit': '3f40d457ec6f3fd2b3ae9fc6827bdbf6335971d12ff25ea6a093c66a6eeaa20d',
  '0011-quicker-statements': '539d16568bcd1b59c975e28c1b617ab8e3d13e73cbfd1d18066d049adcdc428a',
  '0012-effects-by-tenant': 'babd415321a128f97e824736093b1ee69551e55128d6f4f5b24bb54e2a9848cb',
  '0013-scopes-apart': '9013d114cfb8103882e96136bc5dcd9799e4d46ced71e12c869d973eb3efcf36',
  '0014-unfinished': '51c5dc9ec2c6c9d8be440f3992f8ef89fa937778845b0f6e4e73a0d2b7ecf41d',
}

test('no released migration was edited, and each has the next number', () => {
  const hashOf = (sql: readonly string[]) => createHash('sha256').update(JSON.stringify(sql)).digest('hex')
  expect(Object.fromEntries(migrations.map(({ name, sql }) => [name, hashOf(sql('"hapax"'))]))).toEqual(released)
  expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_, index) => index + 1))
  expect(migrations.every(({ name, version }) => name.startsWith(String(version).padStart(4, '0')))).toBe(true)
})

test.each(['', 'Hapax', 'a-b', 'a b', 'a"; DROP SCHEMA public; --', '1st', 'é', 'a'.repeat(64)])(
  'the schema name %j is refused before anything is asked',
  async (schema) => {
    const pool = { connect: () => Promise.reject(new Error('nobody should connect')) }
    expect(() => postgresStore({ pool, schema })).toThrow(expect.objectContaining({ code: 'store_unknown' }))
    expect(await rejection(migratePostgres({ pool, schema }))).toMatchObject({ code: 'store_unknown' })
  },
)

onPostgres('migrations', (url) => {
  const all = migrations.map(({ name }) => name)
  const to = migrations.length

  test('migrating twice changes nothing the second time', async () => {
    const { pool, schema } = given()
    expect(await migratePostgres({ pool, schema })).toEqual({ schema, from: 0, to, migrations: all })
    const made = await objectsIn(pool, schema)
    expect(await migratePostgres({ pool, schema })).toEqual({ schema, from: to, to, migrations: [] })
    expect(await objectsIn(pool, schema)).toEqual(made)
  })

  test('of eight who migrate at once, one does the work', async () => {
    const { pool, schema } = given(8)
    const results = await Promise.all(Array.from({ length: 8 }, () => migratePostgres({ pool, schema })))
    expect(results.map(({ from }) => from).sort()).toEqual([0, ...Array(7).fill(to)])
    const { rows } = await pool.query(`SELECT name FROM ${schema}.migrations ORDER BY version`)
    expect(rows.map(({ name }) => name)).toEqual(all)
  })

  test('a preview says what would be applied and creates nothing', async () => {
    const { pool, schema } = given()
    expect(await migratePostgres({ pool, schema, mode: 'preview' })).toEqual({ schema, from: 0, to, migrations: all })
    expect(await objectsIn(pool, schema)).toEqual([])
    expect((await pool.query('SELECT to_regnamespace($1) AS there', [schema])).rows).toEqual([{ there: null }])
  })

  test('without its schema a store refuses to start, and the error says what to run', async () => {
    const { pool, schema } = given()
    expect(await rejection(postgresStore({ pool, schema }).open())).toMatchObject({
      code: 'store_schema_outdated',
      message: expect.stringContaining('hapax migrate'),
    })
  })

  test('an older schema refuses to start', async () => {
    const { owner: pool, schema } = await schemaOfTest(url)
    await pool.query(`DELETE FROM ${schema}.migrations`)
    expect(await rejection(postgresStore({ pool, schema }).open())).toMatchObject({ code: 'store_schema_outdated' })
  })

  test('a schema of the first release is brought to this one, and keeps what it holds', async () => {
    const { owner: pool, schema, node } = await schemaOfTest(url)
    const claim = await claimed(node().store, 'k')
    await pool.query(`DROP TABLE ${['calls', 'testimonies', 'effects', 'effect_states', 'webhook_events', 'audit', 'audit_head'].map((name) => `${schema}.${name}`).join(', ')};
      ALTER TABLE ${schema}.records DROP CONSTRAINT records_recovery_point_check, DROP COLUMN is_begun, DROP COLUMN has_effects, DROP COLUMN looks, DROP COLUMN doubted_at, DROP COLUMN traceparent,
        DROP CONSTRAINT records_digest_check, ADD CHECK (digest = ${schema}.digest(scope_id, idempotency_key));
      DROP INDEX ${schema}.records_live, ${schema}.records_buried, ${schema}.records_resumable, ${schema}.records_due, ${schema}.records_key, ${schema}.records_anew;
      CREATE INDEX records_scope ON ${schema}.records (scope_id, id);
      DELETE FROM ${schema}.migrations WHERE version > 1`)
    expect(await migratePostgres({ pool, schema })).toEqual({ schema, from: 1, to, migrations: all.slice(1) })
    const { store } = node()
    await store.open()
    expect(await store.find(claim)).toMatchObject({ state: 'in_progress' })
    expect(await store.usage('acme', 10)).toEqual({ keys: 1, bytes: 0 })
  })

  test('a schema of a later release refuses to start, and is not migrated back either', async () => {
    const { owner: pool, schema } = await schemaOfTest(url)
    await pool.query(`INSERT INTO ${schema}.migrations (version, name) VALUES (999, '0999-later')`)
    const refused = { code: 'store_schema_newer', message: expect.stringContaining('999') }
    expect(await rejection(postgresStore({ pool, schema }).open())).toMatchObject(refused)
    expect(await rejection(migratePostgres({ pool, schema }))).toMatchObject(refused)
    expect(await rejection(migratePostgres({ pool, schema, mode: 'preview' }))).toMatchObject(refused)
  })

  test('a migration that fails leaves the schema as it was', async () => {
    const { pool, schema } = given()
    await pool.query(`CREATE SCHEMA ${schema} CREATE TABLE records (in_the_way text)`)
    expect(await rejection(migratePostgres({ pool, schema }))).toMatchObject({ code: 'store_failed' })
    expect(await objectsIn(pool, schema)).toEqual(['records'])
  })

  test('a role that may not create is told that rights are missing', async () => {
    const { pool, schema } = given()
    const ofRole = await rolePool(pool, schema)
    expect(await rejection(migratePostgres({ pool: ofRole, schema }))).toMatchObject({ code: 'store_rights_missing' })
    expect(await objectsIn(pool, schema)).toEqual([])
  })

  test('a role that owns the schema migrates it, without the right to create others', async () => {
    const { pool, schema } = given()
    const ofRole = await rolePool(pool, schema)
    await pool.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${schema}_role`)
    expect(await migratePostgres({ pool: ofRole, schema })).toMatchObject({ from: 0, to })
  })

  test('two schemas on one server do not meet', async () => {
    const one = await schemaOfTest(url)
    const other = await schemaOfTest(url)
    const claim = await claimed(one.node().store, 'k')
    await claimed(other.node().store, 'k')
    await one.node().store.complete(claim, completion())
    expect(await other.node().store.find(claim)).toMatchObject({ state: 'in_progress' })
  })

  /** A name that is free, and whatever is made of it goes with the test. */
  function given(max = 2): { readonly pool: pg.Pool; readonly schema: string } {
    const schema = freshName()
    const pool = connectionsOfTest(url, { max })
    onTestFinished(async () => void (await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)))
    return { pool, schema }
  }

  /** Connections of a role that may log in and nothing else. */
  async function rolePool(pool: pg.Pool, schema: string): Promise<pg.Pool> {
    const role = `${schema}_role`
    await pool.query(`CREATE ROLE ${role} LOGIN`)
    onTestFinished(async () => {
      await pool.query(`DROP OWNED BY ${role} CASCADE`)
      await pool.query(`DROP ROLE ${role}`)
    })
    return connectionsOfTest(asRole(url, role), { max: 1 })
  }
})

async function objectsIn(pool: pg.Pool, schema: string): Promise<unknown[]> {
  const { rows } = await pool.query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace($1)
    UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = to_regnamespace($1) ORDER BY name`,
    [schema],
  )
  return rows.map(({ name }) => name)
}
