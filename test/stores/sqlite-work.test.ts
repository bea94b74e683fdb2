import type { SingleStep } from 'hapax'
import { expect, onTestFinished, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { effect } from '../../dist/conformance/given-effects.js'
import { onCrashPoint } from '../../dist/kernel/crash-points.js'
import { cutSqlite } from '../../dist/stores/sqlite/testing.js'
import { rejection } from '../support/waiting.js'
import { claimed, reservation } from './given.js'
import { freshPath, looking, openStore } from './sqlite-fixtures/given.js'

/** One-transaction mode, the outbox and the inbox where there is one writer and one thread. */

const keeping: SingleStep<string> = { value: 'done', rows: 'keep', completion: completion() }

test('a transaction that was opened elsewhere cannot be joined, and the error says what to do instead', async () => {
  const store = await openStore()
  const error = await rejection(store.single(reservation('k'), async () => keeping, { begun: 'by the caller' }))
  expect(error).toMatchObject({ code: 'transaction_unsupported', message: expect.stringContaining('use the tx') })
  expect(await store.find(reservation('k'))).toBeUndefined()
})

test('within its one transaction a request writes rows that refer to its record', async () => {
  const store = await openStore()
  await store.query({
    sql: 'CREATE TABLE rides (id INTEGER PRIMARY KEY, record_id INTEGER NOT NULL REFERENCES hapax_records (id))',
  })
  const insert = 'INSERT INTO rides (record_id) VALUES (?)'
  await store.single(reservation('k'), async ({ tx, record }) => {
    await tx.run({ sql: insert, parameters: [record.id] })
    return keeping
  })
  const { rows } = await store.query({ sql: 'SELECT record_id FROM rides' })
  expect(rows).toEqual([{ record_id: (await store.find(reservation('k')))?.id }])
})

test('a process that cannot get the write lock is told that the store is busy, and its body does not run', async () => {
  const path = freshPath()
  const [store, other] = [await openStore({ path }), await openStore({ path, busyTimeout: '50ms' })]
  const outcome = await store.single(reservation('k'), async () => {
    const error = await rejection(other.single(reservation('k'), async () => expect.unreachable()))
    expect(error).toMatchObject({ code: 'store_busy' })
    return keeping
  })
  expect(outcome.kind).toBe('committed')
})

test('a thread that is lost within the one transaction of a request leaves nothing of it', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  await store.query({ sql: 'CREATE TABLE rides (id INTEGER PRIMARY KEY)' })
  const lost = store.single(reservation('k'), async ({ tx }) => {
    await tx.run({ sql: 'INSERT INTO rides DEFAULT VALUES' })
    cutSqlite(store)
    return keeping
  })
  expect(await rejection(lost)).toMatchObject({ code: 'store_failed' })
  const left = looking(path, (database) =>
    database.prepare('SELECT id FROM rides UNION ALL SELECT id FROM hapax_records').all([]),
  )
  expect(left).toEqual([])
  expect((await store.single(reservation('k'), async () => keeping)).kind).toBe('committed')
})

test('a body that takes longer than a transaction may is rolled back, and its key is free', async () => {
  const store = await openStore({ transactionTimeout: '50ms' })
  const never = store.single(reservation('k'), () => new Promise<never>(() => undefined))
  expect(await rejection(never)).toMatchObject({ code: 'transaction_timeout' })
  expect(await store.find(reservation('k'))).toBeUndefined()
})

test('the crash points of one transaction and of the inbox are passed in the order of their promises', async () => {
  const store = await openStore()
  const seen: string[] = []
  onCrashPoint((point) => void seen.push(point))
  onTestFinished(() => onCrashPoint(() => undefined))
  await store.single(reservation('k'), async () => {
    seen.push('body')
    return keeping
  })
  await store.single(reservation('k'), async () => expect.unreachable())
  const event = { provider: 'airtm', eventId: 'evt_1' }
  for (const _ of [1, 2]) {
    await store.inbox.receive(event, async () => {
      seen.push('work')
      return { value: undefined, testimonies: [] }
    })
  }
  expect(seen).toEqual(['single.taken', 'body', 'single.written', 'single.committed', 'work', 'inbox.inserted'])
})

test('a renewal of effects that is issued while a transaction is held overtakes what waits', async () => {
  const store = await openStore()
  const [holder, writer] = [await claimed(store, 'holder'), await claimed(store, 'writer')]
  const write = { kind: 'complete', ...completion() } as const
  await store.transaction(writer, async () => ({ value: undefined, write, effects: [effect('a')] }))
  const [taken] = await store.effects.claim({ kinds: [effect('a').kind], limit: 1, leaseMs: 1_000 })
  if (taken === undefined) throw new Error('there is an effect to claim')
  const order: string[] = []
  const waiting: Promise<unknown>[] = []
  await store.transaction(holder, async () => {
    waiting.push(Promise.resolve(store.reserve(reservation('new'))).then(() => order.push('reserve')))
    waiting.push(store.transaction(holder, async () => expect.unreachable()).catch(() => order.push('transaction')))
    waiting.push(store.effects.renew([taken], 60_000).then(() => order.push('renew')))
    return { value: undefined, write }
  })
  await Promise.all(waiting)
  expect(order[0]).toBe('renew')
})

test('two effects with one downstream key never commit, and neither does their record', async () => {
  const store = await openStore()
  const twice = { ...keeping, effects: [effect('a'), effect('a', { sequence: 2 })] }
  expect(await rejection(store.single(reservation('k'), async () => twice))).toMatchObject({ code: 'store_failed' })
  expect(await store.find(reservation('k'))).toBeUndefined()
  expect((await store.effects.list({ limit: 10 })).effects).toEqual([])
})
