import { keyOf, scopeOf } from 'hapax'
import { guard } from 'hapax/fetch'
import type pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { claimed, created, leaseMs, reservation } from './support/reservations.js'
import { type SchemaNode, type TestSchema, testSchema } from './support/test-schema.js'
import { days, hours, noon } from './support/times.js'

/** Business rows and the record in one PostgreSQL: what commits together, and what only one may write. */

onPostgres('business rows and the record', (url) => {
  let schema: TestSchema
  let node: SchemaNode
  beforeEach(async () => {
    schema = await testSchema(url)
    node = await schema.node()
    await schema.setTime(noon)
  })

  const pay = (tx: pg.PoolClient, by: string) =>
    tx.query(`INSERT INTO ${schema.name}.payments (made_by) VALUES ($1)`, [by])
  const payments = async () => (await schema.sql('SELECT made_by FROM payments')).map(({ made_by }) => made_by)

  test('the key is reserved for everybody to see before the handler says its first word [S1-001 S4-59]', async () => {
    const { hapax, wire } = node
    const policy = hapax.policy({ name: 'payments.create' })
    wire.forget()
    await hapax.run({ scope: 'acme', key: 'k', policy }, (work) =>
      work.commit(async ({ tx }) => {
        expect(await schema.row('k')).toMatchObject({ status: 'in_progress', locked_until: noon + leaseMs })
        return pay(tx, 'me').then(() => 'paid')
      }),
    )
    const said = wire.statements.map(({ text }) => text.trim().split(/\s+/).slice(0, 3).join(' '))
    expect(said[0]).toMatch(/^INSERT INTO .*records$/)
    expect(said.findIndex((text) => text.endsWith('.payments'))).toBeGreaterThan(0)
  })

  test('rows and answer are of one transaction, unseen until it commits [S2-103]', async () => {
    const { hapax } = node
    const policy = hapax.policy({ name: 'payments.create' })
    await hapax.run({ scope: 'acme', key: 'k', policy }, (work) =>
      work.commit(async ({ tx }) => {
        await pay(tx, 'me')
        expect(await payments()).toEqual([])
        return 'paid'
      }),
    )
    const [both] = await schema.sql(`SELECT p.xmin = r.xmin AS is_one_transaction, r.status, p.made_by
      FROM payments p CROSS JOIN records r`)
    expect(both).toEqual({ is_one_transaction: true, status: 'completed', made_by: 'me' })
  })

  test('a session that the server ends before the COMMIT leaves neither rows nor an answer [S2-103]', async () => {
    const { hapax } = node
    const policy = hapax.policy({ name: 'payments.create' })
    const run = (ending: 'cut' | 'commit') =>
      hapax.run({ scope: 'acme', key: 'k', policy }, (work) =>
        work.commit(async ({ tx }) => {
          await pay(tx, ending)
          const { rows } = await tx.query('SELECT pg_backend_pid() AS pid')
          if (ending === 'cut') await schema.sql('SELECT pg_terminate_backend($1)', rows[0].pid)
          return 'paid'
        }),
      )
    await expect(run('cut')).rejects.toThrow()
    expect(await payments()).toEqual([])
    expect(await schema.row('k')).toMatchObject({ response_status_code: null, response_body: null })
    expect(await run('commit')).toMatchObject({ value: 'paid', replayed: false })
    expect(await payments()).toEqual(['commit'])
  })

  test('rows that the database refuses take the answer with them, and the retry runs [S2-100]', async () => {
    const { hapax } = node
    const policy = hapax.policy({ name: 'payments.create' })
    const run = (by: string | null) =>
      hapax.run({ scope: 'acme', key: 'k', policy }, (work) =>
        work.commit(async ({ tx }) => {
          await pay(tx, 'first row')
          await tx.query(`INSERT INTO ${schema.name}.payments (made_by) VALUES ($1)`, [by])
          return 'paid'
        }),
      )
    await expect(run(null)).rejects.toThrow(/null value/)
    expect(await payments()).toEqual([])
    expect(await schema.row('k')).toMatchObject({ status: 'failed_retryable', response_status_code: null })
    expect(await run('second row')).toMatchObject({ replayed: false })
    expect(await payments()).toEqual(['first row', 'second row'])
  })

  test('only the owner writes: whoever lost the claim rolls its own rows back [S2-102]', async () => {
    const { store } = node
    const successor = await schema.node()
    const late = await claimed(store, reservation('k', { onLeaseOver: 'resume' }))
    const committing = store.transaction(late, async (tx) => {
      await pay(tx, 'late')
      await schema.setTime(noon + leaseMs)
      const claim = await claimed(successor.store, reservation('k', { onLeaseOver: 'resume' }))
      await successor.store.transaction(claim, async (tx) => {
        await pay(tx, 'successor')
        return { value: 'paid', write: { kind: 'complete', ...created } }
      })
      return { value: 'paid', write: { kind: 'complete', ...created } }
    })
    await expect(committing).rejects.toMatchObject({ code: 'claim_lost' })
    expect(await payments()).toEqual(['successor'])
    expect(await schema.row('k')).toMatchObject({ fence: '2', status: 'completed' })
  })

  test('a handler in its transaction locks no record: its lease is renewed meanwhile [S3-40]', async () => {
    const { store } = node
    const claim = await claimed(store, reservation('k'))
    const other = await schema.client()
    await store.transaction(claim, async (tx) => {
      await pay(tx, 'me')
      await other.query('SELECT 1 FROM records FOR UPDATE NOWAIT')
      await schema.setTime(noon + leaseMs - 1)
      expect(await store.renew(claim, leaseMs)).toBe(true)
      expect(await schema.row('k')).toMatchObject({ locked_until: noon + 2 * leaseMs - 1 })
      return { value: 'paid', write: { kind: 'complete', ...created } }
    })
    expect(await payments()).toEqual(['me'])
  })

  test('a recovery point commits with the rows of its phase, or not at all [S3-05 S3-37]', async () => {
    const { store } = node
    const claim = await claimed(store, reservation('k'))
    const phase = (name: string, fate: 'commits' | 'throws') =>
      store.transaction(claim, async (tx) => {
        await pay(tx, name)
        if (fate === 'throws') throw new Error('half-way')
        return { value: name, write: { kind: 'checkpoint', recoveryPoint: name, onLeaseOver: 'resume', leaseMs } }
      })
    expect((await schema.row('k')).recovery_point).toBe('started')
    await expect(phase('ride_created', 'throws')).rejects.toThrow('half-way')
    expect((await schema.row('k')).recovery_point).toBe('started')
    expect(await payments()).toEqual([])
    await phase('ride_created', 'commits')
    expect((await schema.row('k')).recovery_point).toBe('ride_created')
    expect(await payments()).toEqual(['ride_created'])
    await store.complete(claim, created)
    expect((await schema.row('k')).recovery_point).toBe('finished')
  })

  describe('nothing but PostgreSQL', () => {
    test('keeps record and answer, in a table that a crash does not empty: a node that is new replays the bytes [S3-49]', async () => {
      const [table] = await schema.sql("SELECT relpersistence AS kind FROM pg_class WHERE oid = 'records'::regclass")
      expect(table).toEqual({ kind: 'p' })
      const body = '{ "id" : "pay_1",  "cents": 12345678901234567890 }'
      const send = ({ hapax }: SchemaNode) => {
        const handle = guard(
          hapax,
          { name: 'payments.create', scope: () => 'acme' },
          async () => new Response(body, { status: 201 }),
        )
        const headers = { 'idempotency-key': '"k"', 'content-type': 'application/json' }
        return handle(new Request('http://localhost/payments', { method: 'POST', headers, body: '{"cents":1}' }))
      }
      expect((await send(node)).status).toBe(201)
      await node.hapax.close()
      expect(await schema.row('k')).toMatchObject({ status: 'completed', response_body: Buffer.from(body) })
      const replay = await send(await schema.node())
      expect([replay.status, await replay.text(), replay.headers.get('idempotent-replayed')]).toEqual([
        201,
        body,
        'true',
      ])
    })

    test('holds lock, doubt, record, answer and business rows, over nodes and restarts [S3-50]', async () => {
      const policyOf = ({ hapax }: SchemaNode) => hapax.policy({ name: 'payments.create', lease: '30s' })
      const run = (on: SchemaNode, key: string, input = 1) =>
        on.hapax.run({ scope: 'acme', key, input, policy: policyOf(on) }, (work) =>
          work.commit(async ({ tx }) => {
            await pay(tx, key)
            return key
          }),
        )
      const second = await schema.node()
      await node.hapax.run({ scope: 'acme', key: 'lock', policy: policyOf(node) }, async () => {
        const duplicate = second.hapax.run({ scope: 'acme', key: 'lock', policy: policyOf(second) }, async () => 'ran')
        await expect(duplicate).rejects.toMatchObject({ code: 'idempotency_key_in_progress' })
      })
      expect(await run(node, 'k')).toMatchObject({ value: 'k', replayed: false })
      expect(await run(second, 'k')).toMatchObject({ value: 'k', replayed: true })
      await expect(run(second, 'k', 2)).rejects.toMatchObject({ code: 'idempotency_key_reused_with_different_payload' })
      await claimed(node.store, reservation('crashed'))
      await node.hapax.close()
      await second.hapax.close()

      const restarted = await schema.node()
      expect(await run(restarted, 'k')).toMatchObject({ value: 'k', replayed: true })
      await schema.setTime(noon + hours)
      expect(await restarted.store.sweep(10)).toMatchObject([{ key: 'crashed', state: 'unknown' }])
      const crashed = restarted.store.find({ scope: scopeOf('acme'), key: keyOf('crashed') })
      expect(await crashed).toMatchObject({ state: 'unknown', errorCode: 'in_progress_lock_expired' })
      await schema.setTime(noon + days)
      expect(await restarted.store.reap(10)).toEqual({ buried: 2, deleted: 0 })
      expect(await run(restarted, 'k')).toMatchObject({ replayed: false, generation: 2 })
      expect(await payments()).toEqual(['k', 'k'])
    })
  })
})
