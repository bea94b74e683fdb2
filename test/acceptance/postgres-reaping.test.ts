import { limits } from 'hapax'
import { beforeEach, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { claimed, created, leaseMs, reservation } from './support/reservations.js'
import { type SchemaNode, type TestSchema, testSchema } from './support/test-schema.js'
import { days, noon } from './support/times.js'

/** What the reaper does to a large table, and to whoever works on it meanwhile. */

const old = 100_000
/** Whoever waits for a lock longer than this is refused by the server, and the test fails. */
const impatient = { lock_timeout: '1s' }

onPostgres('the reaper', (url) => {
  let schema: TestSchema
  let node: SchemaNode
  beforeEach(async () => {
    schema = await testSchema(url)
    node = await schema.node({ statementTimeout: '20s' })
    await schema.setTime(noon)
  })

  /** Records of long ago: tombstones that stood their time, or answers past their retention. */
  async function fill(kind: 'tombstone' | 'answer', count: number, prefix: string = kind): Promise<void> {
    const answer = kind === 'tombstone' ? ['expired', null, null, null] : ['completed', 201, '[]', Buffer.from('{}')]
    await schema.sql(
      `INSERT INTO records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
        request_fingerprint, attempt, on_lease_over, recovery_point, evidence, created_at, last_run_at, expires_at,
        tombstone_ms, response_status_code, response_headers, response_body)
      SELECT digest('acme', $1 || n), 'acme', $1 || n, 1, 1, 'c', $3, 'o', '1.test:aa', 1, 'doubt', 'finished', '[]',
        at, at, at + interval '1 day', 0, $4, $5, $6
      FROM generate_series(1, $2) n, (SELECT clock() - interval '9 days' AS at) t`,
      prefix,
      count,
      ...answer,
    )
  }

  const left = async () => Number((await schema.sql('SELECT count(*) AS n FROM records'))[0]?.n)

  test('deletes a hundred thousand in bounded batches, beside traffic that never waits for a lock [S1-049]', {
    timeout: 60_000,
  }, async () => {
    await fill('tombstone', old)
    await schema.sql('CREATE TABLE deletes (rows bigint NOT NULL)')
    await schema.sql(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO ${schema.name}.deletes SELECT count(*) FROM gone; RETURN NULL; END $$`)
    await schema.sql(`CREATE TRIGGER note AFTER DELETE ON records REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION note()`)
    await schema.sql('ANALYZE records')

    const traffic = await schema.node({ settings: impatient })
    const { hapax, wire } = traffic
    const policy = hapax.policy({ name: 'payments.create' })
    let isReaping = true
    let served = 0
    const serving = (async () => {
      for (; isReaping; served++) {
        const run = (key: string) => hapax.run({ scope: 'acme', key, policy }, async () => key)
        expect(await run(`live-${served}`)).toMatchObject({ replayed: false })
        expect(await run(`live-${served >> 1}`)).toMatchObject({ replayed: true })
      }
    })()
    try {
      for (let deleted = 0; deleted < old; ) {
        const reaped = await node.store.reap(1_000_000)
        expect(reaped.deleted).toBe(limits.batch)
        deleted += reaped.deleted
      }
    } finally {
      isReaping = false
    }
    await serving
    expect(await node.store.reap(1_000_000)).toEqual({ buried: 0, deleted: 0 })
    expect(wire.refusals).toEqual([])
    expect(served).toBeGreaterThan(0)
    expect(await left()).toBe(served)
    const [most] = await schema.sql('SELECT max(rows)::int AS most, sum(rows)::int AS all FROM deletes')
    expect(most).toEqual({ most: limits.batch, all: old })
  })

  test('in the middle of its work holds up nobody: new keys, replays, renewals, keys used anew [S1-108]', async () => {
    await fill('tombstone', 20)
    await fill('answer', 20)
    const traffic = await schema.node({ settings: impatient })
    const { store, hapax, wire } = traffic
    const policy = hapax.policy({ name: 'payments.create' })
    await hapax.run({ scope: 'acme', key: 'known', policy }, async () => 'paid')

    const keeper = await schema.client()
    const lock = `(2, '${schema.name}.records'::regclass::oid::integer)`
    await schema.sql(`CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      PERFORM pg_advisory_xact_lock${lock}; RETURN old; END $$`)
    await schema.sql('CREATE TRIGGER hang BEFORE DELETE ON records FOR EACH ROW EXECUTE FUNCTION hang()')
    await keeper.query(`SELECT pg_advisory_lock${lock}`)
    const reaping = node.store.reap(10)
    await schema.untilWaiting(1)

    try {
      const locks = await schema.sql(
        `SELECT DISTINCT l.mode FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE a.application_name = $1 AND l.relation = 'records'::regclass AND l.granted ORDER BY l.mode`,
        schema.name,
      )
      // Neither keeps anybody from reading or writing other rows.
      expect(locks).toEqual([{ mode: 'RowExclusiveLock' }, { mode: 'RowShareLock' }])
      const claim = await claimed(store, reservation('new'))
      expect(await store.renew(claim, leaseMs)).toBe(true)
      expect(await store.complete(claim, created)).toBeTruthy()
      const replay = await hapax.run({ scope: 'acme', key: 'known', policy }, async () => expect.fail('it ran again'))
      expect(replay).toMatchObject({ value: 'paid', replayed: true })
      // An answer that is due to be buried is not in the way of whoever uses its key anew.
      expect(await claimed(store, reservation('answer1'))).toMatchObject({ generation: 2 })
      expect((await store.sweep(10)).length).toBe(0)
    } finally {
      await keeper.query(`SELECT pg_advisory_unlock${lock}`)
    }
    expect(await reaping).toEqual({ buried: 10, deleted: 10 })
    expect(wire.refusals).toEqual([])
  })

  test('passes by a row that somebody holds, and two at once have no row in common [S1-049]', async () => {
    await fill('tombstone', 300)
    const holder = await schema.client()
    await holder.query('BEGIN')
    await holder.query(`SELECT 1 FROM records ORDER BY expires_at, id LIMIT 7 FOR UPDATE`)
    const second = await schema.node({ settings: impatient })
    const reaped = await Promise.all([node, second, node, second].map(({ store }) => store.reap(50)))
    expect(reaped.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(300 - (await left()))
    while ((await second.store.reap(100)).deleted > 0);
    expect(await left()).toBe(7)
    await holder.query('ROLLBACK')
    expect(await second.store.reap(100)).toEqual({ buried: 0, deleted: 7 })
    expect(second.wire.refusals).toEqual([])
  })

  test('leaves orders alone that refer to a record: they lose the reference and stay [S3-54]', async () => {
    await schema.sql(`CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY,
      record bigint REFERENCES records (id) ON DELETE SET NULL)`)
    await node.store.complete(await claimed(node.store, reservation('k', { tombstoneMs: 0 })), created)
    await schema.sql('INSERT INTO orders (record) SELECT id FROM records')
    const orders = () => schema.sql('SELECT id, record IS NULL AS is_alone FROM orders')
    await schema.setTime(noon + days)
    expect(await node.store.reap(10)).toEqual({ buried: 1, deleted: 0 })
    expect(await orders()).toEqual([{ id: '1', is_alone: false }])
    expect(await node.store.reap(10)).toEqual({ buried: 0, deleted: 1 })
    expect(await orders()).toEqual([{ id: '1', is_alone: true }])
  })

  test('respects the window: not a millisecond before, and never what has no end [S2-121 S3-53]', async () => {
    const retention = { retentionMs: days, tombstoneMs: 0 }
    await node.store.complete(await claimed(node.store, reservation('k', retention)), created)
    await node.store.complete(await claimed(node.store, reservation('ever', { retentionMs: undefined })), created)
    await claimed(node.store, reservation('running', retention))
    await schema.setTime(noon + days - 1)
    expect(await node.store.reap(10)).toEqual({ buried: 0, deleted: 0 })
    await schema.setTime(noon + days)
    expect(await node.store.reap(10)).toEqual({ buried: 1, deleted: 0 })
    await schema.setTime(noon + 36_500 * days)
    expect(await node.store.reap(10)).toEqual({ buried: 0, deleted: 1 })
    expect(await left()).toBe(2)
  })

  test('goes by the index of what expires, as EXPLAIN of its own statements says [S4-57]', async () => {
    await fill('tombstone', 200)
    await fill('answer', 200)
    await schema.setTime(noon + 300 * days)
    await fill('tombstone', 10_000, 'later tombstone')
    await fill('answer', 10_000, 'later answer')
    await schema.setTime(noon)
    await schema.sql('ANALYZE records')
    node.wire.forget()
    await node.store.reap(100)
    const plans = await Promise.all(
      node.wire.statements.map(async ({ text }) =>
        (await schema.sql(`EXPLAIN ${text}`, 100)).map((row) => row['QUERY PLAN']).join('\n'),
      ),
    )
    expect(plans).toHaveLength(2)
    expect(plans[0]).toContain('Index Scan using records_tombstones')
    expect(plans[1]).toContain('Index Scan using records_expires')
  })
})
