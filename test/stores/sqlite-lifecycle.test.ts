import { keyOf, scopeOf } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'
import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { cutSqlite } from '../../dist/stores/sqlite/testing.js'
import { rejection } from '../support/waiting.js'
import { claimed, reservation } from './given.js'
import { freshPath, integrityOf, looking, openStore } from './sqlite-fixtures/given.js'
import { program } from './sqlite-fixtures/process.js'

/** A thread owns the connection. It may die, it may be closed, and the process may end: nothing is lost. */

test('opening twice is harmless, and so is closing twice', async () => {
  const store = sqliteStore({ path: freshPath() })
  await Promise.all([store.open(), store.open()])
  await store.open()
  await Promise.all([store.close(), store.close()])
  await store.close()
})

test('every commit is written ahead and synced to the disk', async () => {
  const store = await openStore()
  const setting = async (name: string) => Object.values((await store.query({ sql: `PRAGMA ${name}` })).rows[0] ?? {})[0]
  const full = 2
  expect([await setting('journal_mode'), await setting('synchronous')]).toEqual(['wal', full])
})

test('closing finishes what waits, and leaves one whole file', async () => {
  const path = freshPath()
  const store = sqliteStore({ path })
  const claim = await claimed(store, 'k')
  const waiting = [
    store.transaction(claim, async () => ({ value: undefined, write: { kind: 'complete', ...completion() } })),
    store.reserve(reservation('another')),
  ]
  await store.close()
  expect(await Promise.allSettled(waiting)).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }])
  const sql = 'SELECT status FROM hapax_records ORDER BY id'
  expect(looking(path, (database) => database.prepare(sql).all([]))).toEqual([
    { status: 'completed' },
    { status: 'in_progress' },
  ])
})

test('after it was closed a store refuses everything', async () => {
  const store = sqliteStore({ path: freshPath() })
  const claim = await claimed(store, 'k')
  await store.close()
  const closed = { code: 'store_failed', message: expect.stringContaining('closed') }
  expect(await rejection(store.open())).toMatchObject(closed)
  expect(await rejection(store.reserve(reservation('k')))).toMatchObject(closed)
  expect(await rejection(store.find(claim))).toMatchObject(closed)
  expect(await rejection(store.query({ sql: 'SELECT 1' }))).toMatchObject(closed)
})

test('a store that was never used can be closed', async () => {
  await expect(sqliteStore({ path: freshPath() }).close()).resolves.toBeUndefined()
})

test('when the thread dies, what waits for it fails, and the next operation has a new one', async () => {
  const store = await openStore()
  const claim = await claimed(store, 'k')
  const under = Promise.allSettled([store.complete(claim, completion()), store.reserve(reservation('another'))])
  cutSqlite(store)
  for (const outcome of await under)
    expect(outcome).toMatchObject({ reason: { code: 'store_failed', retryable: true } })
  expect(await store.complete(claim, completion())).toBeTruthy()
  expect((await store.find(claim))?.state).toBe('completed')
})

test('a thread that dies in a transaction rolls it back and gives the write lock free', async () => {
  const path = freshPath()
  const [store, other] = [await openStore({ path }), await openStore({ path })]
  await store.query({ sql: 'CREATE TABLE payments (name TEXT)' })
  const claim = await claimed(store, 'k')
  const held = store.transaction(claim, async (tx) => {
    await tx.run({ sql: "INSERT INTO payments VALUES ('in vain')" })
    cutSqlite(store)
    return { value: undefined, write: { kind: 'complete', ...completion() } }
  })
  expect(await rejection(held)).toMatchObject({ code: 'store_failed' })
  expect((await other.reserve(reservation('another'))).kind).toBe('reserved')
  expect((await other.query({ sql: 'SELECT * FROM payments' })).rows).toEqual([])
})

test('a handler that goes on after its thread died cannot write into the next one', async () => {
  const store = await openStore()
  await store.query({ sql: 'CREATE TABLE payments (name TEXT)' })
  const claim = await claimed(store, 'k')
  const held = store.transaction(claim, async (tx) => {
    cutSqlite(store)
    await rejection(tx.run({ sql: "INSERT INTO payments VALUES ('lost')" }))
    expect(await rejection(tx.run({ sql: "INSERT INTO payments VALUES ('alone')" }))).toMatchObject({
      code: 'store_failed',
    })
    return { value: undefined, write: { kind: 'complete', ...completion() } }
  })
  expect(await rejection(held)).toMatchObject({ code: 'store_failed' })
  expect((await store.query({ sql: 'SELECT * FROM payments' })).rows).toEqual([])
  expect((await store.find(claim))?.state).toBe('in_progress')
})

test('the event loop stays free while the database works', async () => {
  const store = await openStore()
  const slow =
    'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000) SELECT count(*) AS n FROM n'
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  expect((await store.query({ sql: slow })).rows).toEqual([{ n: 1_000_000 }])
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(10)
})

test('a store that waits for nothing does not keep its process alive', async () => {
  const idle = program('idle.mjs', freshPath())
  expect(await idle.next()).toBe('idle')
  expect(await idle.ended).toMatchObject({ code: 0 })
})

test('a process that exits in the midst of its work exits, and does not abort', async () => {
  for (let run = 0; run < 3; run++) {
    const path = freshPath()
    const leaver = program('leaver.mjs', path)
    expect(await leaver.next()).toBe('working')
    expect(await leaver.ended).toEqual({ code: 7, signal: null, stderr: '' })
    expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])
  }
})

test('what was acknowledged is there after the process was killed', async () => {
  const path = freshPath()
  const racer = program('racer.mjs', path, 'victim', '100000')
  expect(await racer.next()).toBe('ready')
  racer.tell('go')
  const acknowledged: string[] = []
  while (acknowledged.length < 300) {
    const { completed } = (await racer.next()) as { completed?: string }
    if (completed !== undefined) acknowledged.push(completed)
  }
  racer.child.kill('SIGKILL')
  expect((await racer.ended).signal).toBe('SIGKILL')
  expect(integrityOf(path)).toEqual([{ integrity_check: 'ok' }])
  const store = await openStore({ path })
  for (const key of acknowledged) {
    expect((await store.find({ scope: scopeOf('acme'), key: keyOf(key) }))?.state).toBe('completed')
  }
})
