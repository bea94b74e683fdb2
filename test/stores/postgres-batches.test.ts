import type { Claim, RecordName, Reservation, Store } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { claimed, completion, keys, leaseMs, reservation } from '../../dist/conformance/given.js'
import { onPostgres } from '../support/on-postgres.js'
import { recorded } from '../support/postgres-recorded.js'
import { connectionsOfTest, schemaOfTest } from '../support/postgres-schema.js'
import { postgresWire } from '../support/postgres-wire.js'
import { until } from '../support/waiting.js'

onPostgres('group commit on PostgreSQL', (url) => {
  test('what arrives together travels together', async () => {
    const { schema } = await schemaOfTest(url)
    const { pool, sent } = recorded(connectionsOfTest(url))
    const store = postgresStore({ pool, schema })
    const claims = await all(store, keys(200))
    expect(new Set(claims.map(({ key }) => key)).size).toBe(200)
    await Promise.all(claims.map((claim) => store.renew(claim, leaseMs)))
    await Promise.all(claims.map((claim) => store.complete(claim, completion())))
    const replays = await Promise.all(keys(200).map((key) => store.reserve(reservation({ key }))))
    expect(replays.every(({ kind }) => kind === 'completed')).toBe(true)
    // Each of the four crowds of 200 is shared by the two lanes.
    expect(sent.length).toBe(4 * 2)
  })

  test('without it every step has statements of its own', async () => {
    const { schema } = await schemaOfTest(url)
    const { pool, sent } = recorded(connectionsOfTest(url))
    await all(postgresStore({ pool, schema, batching: 'off' }), keys(50))
    expect(sent.length).toBe(50)
  })

  test('one key that is asked for by a crowd is given once, and the crowd shares what is read', async () => {
    const { schema } = await schemaOfTest(url)
    const { pool, sent } = recorded(connectionsOfTest(url))
    const store = postgresStore({ pool, schema })
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => store.reserve(reservation())))
    expect(verdicts.filter(({ kind }) => kind === 'reserved')).toHaveLength(1)
    expect(verdicts.filter(({ kind }) => kind === 'in_progress')).toHaveLength(199)
    expect(sent.length).toBeLessThanOrEqual(10)
  })

  test('a crowd that shares what is read shares no bytes', async () => {
    const { node } = await schemaOfTest(url)
    const { store } = node()
    const [claim] = await all(store, keys(1))
    await store.complete(claim as Claim, completion('x'))
    const found = await Promise.all(Array.from({ length: 50 }, () => store.find(claim as Claim)))
    for (const record of found) {
      const body = record?.answer?.kind === 'kept' ? record.answer.body : undefined
      expect(body?.[0]).toBe('x'.charCodeAt(0))
      body?.fill(0)
    }
  })

  test('a record that somebody else has locked holds up nobody but itself', async () => {
    const { schema, owner, node } = await schemaOfTest(url)
    const { store } = node()
    const claims = await all(store, keys(40))
    const locker = await owner.connect()
    await locker.query('BEGIN')
    await locker.query(`SELECT FROM ${schema}.records WHERE idempotency_key = 'key-7' FOR UPDATE`)
    let isLockedOneDone = false
    const completing = claims.map((claim) => store.complete(claim, completion()))
    const locked = completing[7]?.then(() => (isLockedOneDone = true))
    await Promise.all(completing.filter((_, index) => index !== 7))
    expect(isLockedOneDone).toBe(false)
    await locker.query('COMMIT')
    locker.release()
    await locked
    expect(await states(store, claims)).toEqual(new Set(['completed']))
  })

  test('a row that PostgreSQL refuses is refused alone', async () => {
    const { node } = await schemaOfTest(url)
    const { store } = node()
    const asked = keys(30).map((key, index) =>
      reservation({ key, operation: index === 11 ? 'a\0b' : 'payments.create' }),
    )
    const outcomes = await Promise.allSettled(asked.map((one) => store.reserve(one)))
    expect(outcomes.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([11])
    expect(await store.find(reservation({ key: keys(30)[11] as Reservation['key'] }))).toBeUndefined()
  })

  test('a server that takes nothing is not asked again for each of a crowd', async () => {
    const { schema } = await schemaOfTest(url)
    const { pool, sent } = recorded(connectionsOfTest(url, { options: '-c default_transaction_read_only=on' }))
    const store = postgresStore({ pool, schema })
    const outcomes = await Promise.allSettled(keys(200).map((key) => store.reserve(reservation({ key }))))
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']))
    expect(sent.length).toBe(2)
  })

  test('two nodes that ask for the same keys in opposite orders at once never deadlock', async () => {
    const { schema } = await schemaOfTest(url)
    const wire = await postgresWire(url)
    onTestFinished(() => wire.close())
    const refusals: string[] = []
    wire.listen(({ from, type, body }) => {
      if (from === 'server' && type === 'E') refusals.push(body.toString())
    })
    const node = () => postgresStore({ pool: connectionsOfTest(wire.url), schema, connection: 'direct' })
    const [one, other] = [node(), node()]
    for (let round = 0; round < 20; round++) {
      const names = keys(128).map((key) => `${key}-${round}` as Reservation['key'])
      const asked = (claimId: string) => names.map((key) => reservation({ key, claimId: `${claimId}, ${key}` }))
      const forth = asked('one').map((each) => one.reserve(each))
      const back = asked('other').toReversed()
      const both = [...forth, ...back.map((each) => other.reserve(each))]
      const kinds = (await Promise.all(both)).map(({ kind }) => kind)
      expect(kinds.filter((kind) => kind === 'reserved')).toHaveLength(128)
    }
    expect(refusals).toEqual([])
  })

  test('where a batch of reservations is refused, the completions of that turn still travel together', async () => {
    const { schema } = await schemaOfTest(url)
    const wire = await postgresWire(url)
    onTestFinished(() => wire.close())
    const store = postgresStore({ pool: connectionsOfTest(wire.url), schema })
    const claims = await all(store, keys(40))
    const fresh = keys(80).slice(40)
    const asked = fresh.map((key, index) => reservation({ key, operation: index === 3 ? 'a\0b' : 'payments.create' }))
    const before = wire.statements.length
    const [reserved, completed] = await Promise.all([
      Promise.allSettled(asked.map((one) => store.reserve(one))),
      Promise.allSettled(claims.map((claim) => store.complete(claim, completion()))),
    ])
    const updates = wire.statements.slice(before).filter(({ text }) => text.includes('UPDATE'))
    expect(reserved.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []))).toEqual([3])
    expect(new Set(completed.map(({ status }) => status))).toEqual(new Set(['fulfilled']))
    expect(await states(store, claims)).toEqual(new Set(['completed']))
    expect(updates).toHaveLength(2)
  })

  test.each(['cut before', 'cut after'] as const)(
    'a crowd of both kinds that is %s is told so, each of it, and what is asked again comes to the same',
    async (fate) => {
      const { schema, node } = await schemaOfTest(url)
      const wire = await postgresWire(url)
      onTestFinished(() => wire.close())
      const store = postgresStore({ pool: connectionsOfTest(wire.url), schema })
      const claims = await all(store, keys(40))
      const asked = keys(80)
        .slice(40)
        .map((key) => reservation({ key, claimId: `claim of ${key}` }))
      wire.rule(() => fate)
      const both = () => [
        ...claims.map((claim) => store.complete(claim, completion())),
        ...asked.map((one) => store.reserve(one)),
      ]
      const lost = await Promise.allSettled(both())
      expect(new Set(lost.map(({ status }) => status))).toEqual(new Set(['rejected']))
      const { store: other } = node()
      const expected = fate === 'cut before' ? ['in_progress', undefined] : ['completed', 'in_progress']
      expect([await states(other, claims), await states(other, asked)]).toEqual(
        expected.map((state) => new Set([state])),
      )
      wire.heal()
      await Promise.all(both())
      expect(await states(other, claims)).toEqual(new Set(['completed']))
      const held = await Promise.all(asked.map((one) => other.find(one)))
      expect(held.map((record) => record?.claimId)).toEqual(asked.map(({ claimId }) => claimId))
      expect(new Set(held.map((record) => record?.fence))).toEqual(new Set([1]))
    },
  )

  test('a claim that was lost is lost in a crowd too, and changes nothing', async () => {
    const { node } = await schemaOfTest(url)
    const { store } = node()
    const claims = await all(store, keys(20))
    const given = claims.map((claim, index) => (index % 2 === 0 ? claim : { ...claim, fence: claim.fence + 1 }))
    const renewed = await Promise.all(given.map((claim) => store.renew(claim, leaseMs)))
    const completed = await Promise.all(given.map((claim) => store.complete(claim, completion())))
    expect(renewed).toEqual(given.map((_, index) => index % 2 === 0))
    expect(completed.map(Boolean)).toEqual(renewed)
  })

  test('a text that looks like the spelling of an array stays a text', async () => {
    const { node } = await schemaOfTest(url)
    const { store } = node()
    const texts = ['NULL', '', '{}', '{"a","b"}', 'a,b', ' blank ', '\\', '"', '\\"', "'", '\n\t', 'é🦜', '\\x00', '$1']
    const asked = texts.map((operation, index) =>
      reservation({ key: keys(20)[index] as Reservation['key'], operation }),
    )
    const claims = await Promise.all(asked.map((one) => claimed(store, one)))
    const answers = texts.map((text) => completion(JSON.stringify({ text })))
    const withHeaders = answers.map(({ answer, answerVersion }, index) => ({
      answer: { ...answer, headers: [['x-text', texts[index] ?? '']] as const },
      answerVersion,
    }))
    await Promise.all(claims.map((claim, index) => store.complete(claim, withHeaders[index] ?? completion())))
    const found = await Promise.all(claims.map((claim) => store.find(claim)))
    expect(found.map((record) => record?.operation)).toEqual(texts)
    expect(found.map((record) => record?.answer)).toEqual(withHeaders.map(({ answer }) => answer))
  })

  test('a batch whose connection is cut fails for each, and leaves each as it was or as it was to be', async () => {
    const { schema, node, owner } = await schemaOfTest(url)
    const other = node().store
    const wire = await postgresWire(url)
    const pool = new pg.Pool({ connectionString: wire.url, max: 4 })
    pool.on('error', () => undefined)
    const store = postgresStore({ pool, schema })
    const claims = await all(store, keys(60))
    const locker = await owner.connect()
    // The whole table is held, so that the batches are on their way when the wire is cut.
    await locker.query('BEGIN')
    await locker.query(`LOCK TABLE ${schema}.records IN ACCESS EXCLUSIVE MODE`)
    const completing = Promise.allSettled(claims.map((claim) => store.complete(claim, completion())))
    await until(
      () => owner.query(`SELECT FROM pg_locks WHERE NOT granted AND relation = '${schema}.records'::regclass`),
      ({ rows }) => rows.length >= 2,
    )
    wire.cut()
    await locker.query('COMMIT')
    locker.release()
    const outcomes = await completing
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true)
    for (const [index, { status }] of outcomes.entries()) {
      const record = await other.find(claims[index] as Claim)
      if (status === 'fulfilled') expect(record?.state).toBe('completed')
      else expect(['in_progress', 'completed']).toContain(record?.state)
    }
    await Promise.all(claims.map((claim) => other.complete(claim, completion())))
    expect(await states(other, claims)).toEqual(new Set(['completed']))
    await pool.end()
    await wire.close()
  })
})

function all<Tx>(store: Store<Tx>, names: ReturnType<typeof keys>): Promise<Claim[]> {
  return Promise.all(names.map((key) => claimed(store as Store<never>, { key })))
}

async function states<Tx>(store: Store<Tx>, claims: readonly RecordName[]): Promise<Set<string | undefined>> {
  return new Set((await Promise.all(claims.map((claim) => store.find(claim)))).map((record) => record?.state))
}
