import type { Step } from 'hapax'
import type { SqliteStore, SqliteTransaction } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { pinSqliteClock } from '../../dist/stores/sqlite/testing.js'
import { gate, rejection } from '../support/waiting.js'
import { claimed, reservation } from './given.js'
import { freshPath, openStore } from './sqlite-fixtures/given.js'
import { program } from './sqlite-fixtures/process.js'

/** Business rows and the record in one commit, with one writer at a time. */

const completing: Step<string> = { value: 'done', write: { kind: 'complete', ...completion() } }

test('a renewal issued while a handler holds a transaction is written right after it', async () => {
  const store = await openStore()
  const [holder, other] = [await claimed(store, 'holder'), await claimed(store, 'other')]
  const order: string[] = []
  const note = (name: string) => (value: unknown) => {
    order.push(name)
    return value
  }
  const held = store.transaction(holder, async () => {
    // All three wait for the transaction; the renewal came last and goes first.
    waiting.push(store.transaction(other, async () => completing).then(note('transaction')))
    waiting.push(store.reserve(reservation('new')).then(note('reserve')))
    waiting.push(store.renew(other, 60_000).then(note('renew')))
    return completing
  })
  const waiting: Promise<unknown>[] = [held.then(note('held'))]
  await held
  const [, , , renewed] = await Promise.all(waiting)
  expect(renewed).toBe(true)
  expect(order).toEqual(['held', 'renew', 'transaction', 'reserve'])
})

test('nobody else can take the claim while a transaction is held, though its lease runs out meanwhile', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  await pinSqliteClock(path, 1_000_000)
  const claim = await claimed(store, 'k', { leaseMs: 1_000, onLeaseOver: 'resume' })
  const rival = program('rival.mjs', path, 'k')
  expect(await rival.next()).toBe('ready')
  const leaseRunOut = 'UPDATE hapax_clock SET pinned_at = pinned_at + 5000'
  await store.transaction(claim, async (tx) => {
    await tx.run({ sql: leaseRunOut })
    rival.tell('reserve')
    expect(await rival.next()).toEqual({ error: 'store_busy' })
    return {
      value: undefined,
      write: { kind: 'checkpoint', recoveryPoint: 'paid', onLeaseOver: 'resume', leaseMs: 1_000 },
    }
  })
  rival.tell('reserve')
  expect(await rival.next()).toEqual({ verdict: 'in_progress' })
  expect(await store.renew(claim, 1_000)).toBe(true)
})

test('a stale claim is found out at the last statement, and its rows roll back', async () => {
  const store = await withPayments()
  const stale = await claimed(store, 'k', { leaseMs: 0, onLeaseOver: 'resume' })
  await claimed(store, 'k')
  expect(await rejection(store.transaction(stale, paying('in vain')))).toMatchObject({ code: 'claim_lost' })
  expect(await payments(store)).toEqual([])
})

test('a completion that is repeated in a transaction does not commit its rows twice', async () => {
  const store = await withPayments()
  const claim = await claimed(store, 'k')
  await store.transaction(claim, paying('once'))
  expect(await rejection(store.transaction(claim, paying('twice')))).toMatchObject({ code: 'claim_lost' })
  expect(await payments(store)).toEqual(['once'])
})

test('a transaction held too long is rolled back, and what its handler still sends is refused', async () => {
  const store = await withPayments({ transactionTimeout: '100ms' })
  const claim = await claimed(store, 'k')
  const { opened: woken, open: wake } = gate()
  const { opened: late, open: noteLate } = gate<unknown>()
  const held = store.transaction(claim, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments VALUES ('in vain')" })
    await woken
    noteLate(await rejection(tx.run({ sql: "INSERT INTO payments VALUES ('too late')" })))
    return completing
  })
  expect(await rejection(held)).toMatchObject({ code: 'transaction_timeout' })
  wake()
  expect(await late).toMatchObject({ code: 'transaction_timeout' })
  expect(await payments(store)).toEqual([])
  await store.transaction(claim, paying('in time'))
  expect(await payments(store)).toEqual(['in time'])
})

test('a statement that does not end is given up in bounded time, and the store comes back', async () => {
  const store = await withPayments({ transactionTimeout: '100ms', busyTimeout: '100ms' })
  const claim = await claimed(store, 'k')
  const startedAt = performance.now()
  const hung = store.transaction(claim, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments VALUES ('in vain')" })
    await tx.run({ sql: slow })
    return completing
  })
  expect(await rejection(hung)).toMatchObject({ code: 'transaction_timeout' })
  const gaveUpAfter = performance.now() - startedAt
  expect(await rejection(store.reserve(reservation('meanwhile')))).toMatchObject({ code: 'store_busy' })
  await expect.poll(() => store.renew(claim, 1_000).catch(() => 'not yet'), { timeout: 20_000 }).toBe(true)
  expect(gaveUpAfter).toBeLessThan((performance.now() - startedAt) / 2)
  expect(await payments(store)).toEqual([])
})

test('a statement that fails can be caught, and the transaction goes on', async () => {
  const store = await withPayments()
  const claim = await claimed(store, 'k')
  await store.query({ sql: 'CREATE UNIQUE INDEX one ON payments (name)' })
  await store.transaction(claim, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments VALUES ('one')" })
    const twice = await rejection(tx.run({ sql: "INSERT INTO payments VALUES ('one')" }))
    expect(twice).toMatchObject({ code: 'store_failed', cause: { code: 'SQLITE_CONSTRAINT_UNIQUE' } })
    return completing
  })
  expect(await payments(store)).toEqual(['one'])
})

test('a transaction that the database itself rolled back cannot go on by halves', async () => {
  const store = await withPayments()
  const claim = await claimed(store, 'k')
  const { rows } = await store.query({ sql: 'PRAGMA page_count' })
  await store.query({ sql: `PRAGMA max_page_count = ${rows[0]?.page_count}` })
  const outcome = store.transaction(claim, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments VALUES ('small')" })
    const full = await rejection(tx.run({ sql: 'INSERT INTO payments VALUES (hex(zeroblob(100000)))' }))
    expect(full).toMatchObject({ code: 'store_failed', cause: { code: 'SQLITE_FULL' } })
    await rejection(tx.run({ sql: "INSERT INTO payments VALUES ('alone')" }))
    return completing
  })
  expect(await rejection(outcome)).toMatchObject({ code: 'store_failed', message: expect.stringContaining('is gone') })
  await store.query({ sql: 'PRAGMA max_page_count = 1000000' })
  expect(await payments(store)).toEqual([])
  expect(await store.renew(claim, 1_000)).toBe(true)
})

test.each(['COMMIT', 'commit;', ' -- now\n END', '/* ! */ ROLLBACK', 'BEGIN', 'rollback transaction'])(
  'a handler cannot end its transaction by hand with %j',
  async (sql) => {
    const store = await withPayments()
    const claim = await claimed(store, 'k')
    const outcome = store.transaction(claim, async (tx) => {
      await tx.run({ sql: "INSERT INTO payments VALUES ('in vain')" })
      await tx.run({ sql })
      return completing
    })
    expect(await rejection(outcome)).toMatchObject({ code: 'store_failed' })
    expect(await payments(store)).toEqual([])
  },
)

test('savepoints work within a transaction', async () => {
  const store = await withPayments()
  const claim = await claimed(store, 'k')
  await store.transaction(claim, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments VALUES ('kept')" })
    await tx.run({ sql: 'SAVEPOINT attempt' })
    await tx.run({ sql: "INSERT INTO payments VALUES ('dropped')" })
    await tx.run({ sql: 'ROLLBACK TO attempt' })
    return completing
  })
  expect(await payments(store)).toEqual(['kept'])
})

test('statements sent at once run in order, and their values come back as they went in', async () => {
  const store = await openStore()
  await store.query({ sql: 'CREATE TABLE things (id INTEGER PRIMARY KEY, a, b, c, d, e, f)' })
  const claim = await claimed(store, 'k')
  const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
  const { value } = await store.transaction(claim, async (tx) => {
    const sql = 'INSERT INTO things (a, b, c, d, e, f) VALUES (?, ?, ?, ?, ?, ?) RETURNING *'
    const results = await Promise.all([
      tx.run({ sql, parameters: ['text', 1.5, 9_007_199_254_740_993n, true, undefined, bytes] }),
      tx.run({ sql, parameters: ['', 0, 7n, false, null, new Uint8Array()] }),
    ])
    return { value: results, write: completing.write }
  })
  expect(value).toEqual([
    { changes: 1, rows: [{ id: 1, a: 'text', b: 1.5, c: 9_007_199_254_740_993n, d: 1, e: null, f: bytes }] },
    { changes: 1, rows: [{ id: 2, a: '', b: 0, c: 7, d: 0, e: null, f: new Uint8Array() }] },
  ])
  expect(await store.query({ sql: 'UPDATE things SET e = 1' })).toEqual({ rows: [], changes: 2 })
  expect(await store.query({ sql: 'SELECT count(*) AS n FROM things' })).toEqual({ rows: [{ n: 2 }], changes: 0 })
})

test.each([
  ['a text with NUL, which would come back cut off', 'cut\0off'],
  ['a date', new Date(0)],
  ['an object', { a: 1 }],
  ['a function', () => 1],
  ['an integer of more than 64 bits', 2n ** 64n],
])('a parameter that cannot be stored is refused: %s', async (_, parameter) => {
  const store = await withPayments()
  const outcome = store.query({ sql: 'INSERT INTO payments VALUES (?)', parameters: [parameter] })
  expect(await rejection(outcome)).toMatchObject({ code: 'store_failed' })
  expect(await payments(store)).toEqual([])
})

test('query runs one statement on its own and leaves no transaction open', async () => {
  const store = await withPayments()
  expect(await rejection(store.query({ sql: 'BEGIN' }))).toMatchObject({ code: 'store_failed' })
  expect(await rejection(store.query({ sql: 'SELEC 1' }))).toMatchObject({ code: 'store_failed' })
  await store.query({ sql: "INSERT INTO payments VALUES ('alone')" })
  expect((await store.reserve(reservation('k'))).kind).toBe('reserved')
})

const slow = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 8000000) SELECT count(*) FROM n'

async function withPayments(options: Parameters<typeof openStore>[0] = {}): Promise<SqliteStore> {
  const store = await openStore(options)
  await store.query({ sql: 'CREATE TABLE payments (name TEXT NOT NULL) STRICT' })
  return store
}

async function payments(store: SqliteStore): Promise<unknown[]> {
  return (await store.query({ sql: 'SELECT name FROM payments' })).rows.map(({ name }) => name)
}

function paying(name: string): (tx: SqliteTransaction) => Promise<Step<string>> {
  return async (tx) => {
    await tx.run({ sql: 'INSERT INTO payments VALUES (?)', parameters: [name] })
    return completing
  }
}
