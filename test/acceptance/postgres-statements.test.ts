import { type Claim, keyOf, type Reservation, type Scope, scopeOf } from 'hapax'
import { postgresRights } from 'hapax/postgres'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { asRole } from '../support/postgres-schema.js'
import { framedSha256 } from './support/fingerprint-recipe.js'
import type { Statement } from './support/listened-wire.js'
import { anotherRequest, claimed, created, leaseMs, reservation } from './support/reservations.js'
import { type SchemaNode, type TestSchema, testSchema } from './support/test-schema.js'
import { days, noon } from './support/times.js'

/** Which statements PostgreSQL is asked, and how many: heard on the wire, not read in our own code. */

onPostgres('the statements', (url) => {
  let schema: TestSchema
  let node: SchemaNode
  beforeEach(async () => {
    schema = await testSchema(url)
    node = await schema.node()
    await schema.setTime(noon)
  })

  /** What the server was asked for this, by the first word of each statement. */
  async function heard(step: () => Promise<unknown>): Promise<{ readonly words: string[]; readonly trips: number }> {
    node.wire.forget()
    await step()
    return { words: node.wire.statements.map(wordOf), trips: node.wire.roundTrips() }
  }

  test('a new key is one INSERT that ignores a conflict, in one round trip [S1-031]', async () => {
    const { store, wire } = node
    expect(await heard(() => claimed(store, reservation('k')))).toEqual({ words: ['INSERT'], trips: 1 })
    expect(wire.statements[0]?.text).toMatch(/ON CONFLICT \(digest\) DO NOTHING\s+RETURNING id/)
    expect(await schema.row('k')).toMatchObject({ status: 'in_progress', locked_until: noon + leaseMs })
  })

  test('no reservation looks before it inserts, whatever the key holds [S1-057]', async () => {
    const { store } = node
    await store.complete(await claimed(store, reservation('completed')), created)
    await store.fail(await claimed(store, reservation('failed')), { errorCode: 'threw' })
    await store.doubt(await claimed(store, reservation('unknown')), { errorCode: 'timeout', reconcileAfterMs: 0 })
    await claimed(store, reservation('running'))
    for (const key of ['new', 'completed', 'failed', 'unknown', 'running']) {
      for (const changes of [{}, anotherRequest]) {
        const { words } = await heard(() => store.reserve(reservation(key, changes)))
        expect(words[0], key).toBe('INSERT')
        expect(
          words.filter((word) => word === 'INSERT'),
          key,
        ).toHaveLength(1)
      }
    }
  })

  test('a row means the right to run; none means a SELECT of its own says what is there [S2-095]', async () => {
    const { store } = node
    expect(await heard(() => claimed(store, reservation('k')))).toEqual({ words: ['INSERT'], trips: 1 })
    const known = await heard(async () => {
      expect(await store.reserve(reservation('k'))).toMatchObject({ kind: 'in_progress', leaseLeftMs: leaseMs })
    })
    expect(known).toEqual({ words: ['INSERT', 'SELECT'], trips: 2 })

    // Where somebody must say whose records it is about, the transaction around each of them is spelled out.
    node = await schema.node({ rowSecurity: 'scope' })
    const step = (word: string) => ['BEGIN', 'SELECT set_config', 'SELECT set_config', word, 'COMMIT']
    expect((await heard(() => claimed(node.store, reservation('other')))).words).toEqual(step('INSERT'))
    const again = await heard(() => node.store.reserve(reservation('other')))
    expect(again.words).toEqual([...step('INSERT'), ...step('SELECT')])
  })

  test.each(['off', 'scope'] as const)(
    'under duplicates at once nothing is ever refused by the database, with row security %s [S2-093]',
    async (rowSecurity) => {
      const nodes = [await schema.node({ rowSecurity, max: 8 }), await schema.node({ rowSecurity, max: 8 })]
      const ran: string[] = []
      const keys = Array.from({ length: 30 }, (_, number) => `k${number}`)
      await Promise.all(
        nodes.flatMap(({ hapax }) => {
          const policy = hapax.policy({ name: 'payments.create' })
          const run = (key: string) =>
            hapax.run({ scope: 'acme', key, policy }, (work) =>
              work.commit(async ({ tx }) => {
                await tx.query(`INSERT INTO ${schema.name}.payments (made_by) VALUES ($1)`, [key])
                ran.push(key)
                return key
              }),
            )
          return keys.flatMap((key) => [run(key), run(key), run(key)].map((running) => running.catch(onlyInProgress)))
        }),
      )
      expect(ran.sort()).toEqual(keys.sort())
      // Neither 23505, a unique violation, nor 25P02, a statement in a transaction that was aborted by one.
      for (const { wire } of nodes) expect(wire.refusals).toEqual([])
      // One node may win every key, so only together have they said enough: a transaction of several statements per key.
      const heard = nodes.map(({ wire }) => wire.statements.length)
      expect(Math.min(...heard)).toBeGreaterThan(0)
      expect(heard.reduce((sum, count) => sum + count)).toBeGreaterThan(3 * keys.length)
    },
  )

  describe('whoever looks for a key', () => {
    test('says whose: every statement on one key goes by the digest of scope and key [S1-062]', async () => {
      const { store, wire } = node
      const asked: Reservation = reservation('k')
      const digest = framedSha256(['hapax record 1', 'acme', 'k']).subarray(0, 16)
      const steps: ((claim: Claim) => Promise<unknown>)[] = [
        (claim) => store.renew(claim, leaseMs),
        (claim) => store.checkpoint(claim, { recoveryPoint: 'half', onLeaseOver: 'resume', leaseMs }),
        (claim) => store.fail(claim, { errorCode: 'threw' }),
        () => store.reserve(asked),
        (claim) => store.release(claim),
        async (claim) =>
          store.doubt({ ...claim, fence: 2, claimId: asked.claimId }, { errorCode: 'x', reconcileAfterMs: 0 }),
        () =>
          store.settle(asked, {
            generation: 1,
            evidence: { by: 'operator', why: 'seen' },
            outcome: { kind: 'completed', ...created },
          }),
        () => store.reserve(asked),
        () => store.find(asked),
        (claim) =>
          store.transaction(claim, async () => ({ value: 1, write: { kind: 'complete', ...created } })).catch(() => 0),
      ]
      wire.forget()
      const claim = await claimed(store, asked)
      for (const step of steps) await step(claim)
      const onRecords = wire.statements.filter(({ text }) => text.includes('.records'))
      expect(onRecords.length).toBeGreaterThan(steps.length)
      for (const statement of onRecords) {
        expect(statement.text).toMatch(/WHERE digest = \$1|ON CONFLICT \(digest\) DO NOTHING/)
        expect(statement.first, statement.text).toEqual(digest)
      }
    })

    test('finds nothing of another tenant, and what goes over all tenants never goes by a key', async () => {
      const { store, wire } = node
      const scope: Scope = scopeOf('globex')
      const claim = await claimed(store, reservation('k'))
      const stolen = { ...claim, scope }
      expect(await store.find(stolen)).toBeUndefined()
      expect(await store.renew(stolen, leaseMs)).toBe(false)
      expect(await store.complete(stolen, created)).toBe(false)
      expect((await store.list({ scope, limit: 10 })).records).toEqual([])
      expect((await store.reserve(reservation('k', { scope }))).kind).toBe('reserved')
      wire.forget()
      await schema.setTime(noon + days)
      await store.sweep(10)
      await store.reap(10)
      await store.list({ limit: 10 })
      expect(wire.statements).toHaveLength(4)
      for (const { text } of wire.statements)
        expect(text.slice(text.indexOf('WHERE'), text.indexOf('RETURNING')), text).not.toMatch(/idempotency_key|digest/)
    })

    test('is kept from other tenants by PostgreSQL itself, where row security is asked for [S1-062]', async () => {
      const role = `${schema.name}_serving`
      await schema.sql(`CREATE ROLE ${role} LOGIN`)
      onTestFinished(async () => {
        const client = await schema.client()
        await client.query(`DROP OWNED BY ${role}`)
        await client.query(`DROP ROLE ${role}`)
      })
      for (const statement of postgresRights({ role, schema: schema.name, rowSecurity: 'scope' }))
        await schema.sql(statement)
      const { store, pool } = await schema.node({ url: asRole(url, role), rowSecurity: 'scope' })
      await store.complete(await claimed(store, reservation('k')), created)
      expect(await store.find(reservation('k'))).toMatchObject({ key: keyOf('k'), state: 'completed' })

      const seen = async (scope: string) => {
        const client = await pool.connect()
        try {
          await client.query('BEGIN')
          await client.query(`SELECT set_config('hapax.scope', $1, true)`, [scope])
          // The bug that this is for: a lookup by the key alone.
          const { rows } = await client.query(`SELECT 1 FROM ${schema.name}.records WHERE idempotency_key = 'k'`)
          return rows.length
        } finally {
          await client.query('ROLLBACK')
          client.release()
        }
      }
      expect([await seen('acme'), await seen('globex'), await seen('')]).toEqual([1, 0, 0])
    })
  })

  test('the unique index decides the conflict and finds the row, as EXPLAIN of both statements says [S3-72]', async () => {
    const { store, wire } = node
    await schema.sql(`INSERT INTO records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
        request_fingerprint, attempt, locked_until, on_lease_over, recovery_point, evidence, created_at, last_run_at,
        expires_at, tombstone_ms)
      SELECT digest('acme', 'old-' || n), 'acme', 'old-' || n, 1, 1, 'c', 'in_progress', 'o',
        'f', 1, now(), 'doubt', 'started', '[]', now(), now(), now(), 0 FROM generate_series(1, 20000) n`)
    await schema.sql('ANALYZE records')
    await claimed(store, reservation('k'))
    wire.forget()
    await store.reserve(reservation('k'))
    const [insert, select] = wire.statements
    const digest = Buffer.alloc(16)
    const values = [digest, 'acme', 'x', 'claim', 'operation', '1.test:aa', 'doubt', 1, 1, 1, null, null]
    expect(await plan(`${insert?.text}`, values)).toContain('Conflict Arbiter Indexes: records_digest')
    expect(await plan(`${select?.text}`, [digest])).toContain('Index Scan using records_digest on records')

    async function plan(text: string, values: readonly unknown[]): Promise<string> {
      return (await schema.sql(`EXPLAIN ${text}`, ...values)).map((row) => row['QUERY PLAN']).join('\n')
    }
  })
})

function wordOf({ text }: Statement): string {
  return /^SELECT set_config|^\w+/.exec(text)?.[0] ?? text
}

function onlyInProgress(error: unknown): void {
  expect(error).toMatchObject({ code: 'idempotency_key_in_progress' })
}
