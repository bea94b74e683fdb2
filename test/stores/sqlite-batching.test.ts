import { readFileSync, statSync } from 'node:fs'
import { keyOf, limits, scopeOf, systemClock } from 'hapax'
import { expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { gate, rejection } from '../support/waiting.js'
import { claimed, claimOf, reservation } from './given.js'
import { freshPath, openStore } from './sqlite-fixtures/given.js'

/** What arrives together is committed together, and what fails fails alone. */

test('operations that arrive together share one commit', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  const before = commitsIn(path)
  await Promise.all(names(limits.commitBatch).map((key) => store.reserve(reservation(key))))
  expect(commitsIn(path) - before).toBe(1)
})

test('what arrives while a batch is under way forms the next one, up to a bound', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  const before = commitsIn(path)
  await Promise.all(names(2 * limits.commitBatch + 1).map((key) => store.reserve(reservation(key))))
  expect(commitsIn(path) - before).toBe(3)
})

test('a batch that changes nothing writes nothing', async () => {
  const path = freshPath()
  const store = await openStore({ path })
  const claim = await claimed(store, 'k')
  await store.complete(claim, completion())
  const before = statSync(`${path}-wal`)
  const [replay, again, renewed, found, page, swept, reaped] = await Promise.all([
    store.reserve(reservation('k')),
    store.complete(claim, completion()),
    store.renew(claim, 1_000),
    store.find(claim),
    store.list({ limit: 10 }),
    store.sweep(10),
    store.reap(10),
  ])
  expect([replay.kind, again, renewed, found?.state]).toEqual(['completed', expect.anything(), false, 'completed'])
  expect([page.records.length, swept, reaped]).toEqual([1, [], { buried: 0, deleted: 0 }])
  expect(statSync(`${path}-wal`)).toMatchObject({ size: before.size, mtimeMs: before.mtimeMs })
})

test('an operation that fails does not take the rest of its batch with it', async () => {
  const store = await openStore()
  const poison = reservation('poison', { operation: 'cut\0off' })
  const batch = [
    ...names(20).map((key) => reservation(key)),
    poison,
    ...names(20, 'later').map((key) => reservation(key)),
  ]
  const outcomes = await Promise.allSettled(batch.map((item) => store.reserve(item)))
  const failed = outcomes.flatMap((outcome, index) => (outcome.status === 'rejected' ? [[index, outcome.reason]] : []))
  expect(failed).toEqual([[20, expect.objectContaining({ code: 'store_failed' })]])
  expect(
    outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value.kind === 'reserved'),
  ).toHaveLength(40)
  expect((await store.list({ limit: 100 })).records).toHaveLength(40)
})

test('a commit that fails is a typed error for each operation of the batch, and nothing of it is there', async () => {
  const store = await openStore()
  await claimed(store, 'before')
  const { rows } = await store.query({ sql: 'PRAGMA page_count' })
  await store.query({ sql: `PRAGMA max_page_count = ${rows[0]?.page_count}` })
  const large = 'x'.repeat(100_000)
  const outcomes = await Promise.allSettled(
    names(20).map((key) => store.reserve(reservation(key, { operation: large }))),
  )
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({
      reason: { code: 'store_failed', message: expect.stringContaining('disk is full') },
    })
  }
  await store.query({ sql: 'PRAGMA max_page_count = 1000000' })
  expect((await store.list({ limit: 100 })).records).toHaveLength(1)
  expect((await store.reserve(reservation('after'))).kind).toBe('reserved')
})

test('within one batch each operation sees what the ones before it did', async () => {
  const store = await openStore()
  const racers = await Promise.all(names(50).map(() => store.reserve(reservation('k'))))
  expect(racers.map(({ kind }) => kind)).toEqual(['reserved', ...Array(49).fill('in_progress')])
})

test('a digest that belongs to another name is a broken promise, never a wrong answer', async () => {
  const store = await openStore()
  await store.complete(await claimed(store, 'mine'), completion('secret'))
  await store.query({ sql: "UPDATE hapax_records SET idempotency_key = 'yours'" })
  const [mine, other] = await Promise.allSettled([
    store.reserve(reservation('mine')),
    store.reserve(reservation('other')),
  ])
  expect(mine).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('share a digest') } })
  expect(other).toMatchObject({ status: 'fulfilled', value: { kind: 'reserved' } })
})

test('an id is never given twice, not even after its record was deleted', async () => {
  const store = await openStore()
  const claim = await claimed(store, 'first')
  const { id } = (await store.find(claim)) ?? { id: 0 }
  await store.release(claim)
  const next = await store.find(await claimed(store, 'second'))
  expect(next?.id).toBeGreaterThan(id)
})

test('reading goes on while another process holds the write lock', async () => {
  const path = freshPath()
  const [store, other] = [await openStore({ path }), await openStore({ path, busyTimeout: '50ms' })]
  const claim = await claimed(store, 'k')
  await store.transaction(claim, async () => {
    expect((await other.find(claim))?.state).toBe('in_progress')
    expect((await other.list({ limit: 1 })).records).toHaveLength(1)
    expect((await other.usage('acme', 10)).keys).toBe(1)
    expect(await rejection(other.reserve(reservation('k2')))).toMatchObject({ code: 'store_busy' })
    return { value: undefined, write: { kind: 'complete', ...completion() } }
  })
  expect((await other.reserve(reservation('k2'))).kind).toBe('reserved')
})

test('a replay is told `store_busy` while another process holds the write lock for too long', async () => {
  const path = freshPath()
  const [store, other] = [await openStore({ path }), await openStore({ path, busyTimeout: '50ms' })]
  await store.complete(await claimed(store, 'answered'), completion())
  await store.transaction(await claimed(store, 'k'), async () => {
    expect(await rejection(other.reserve(reservation('answered')))).toMatchObject({ code: 'store_busy' })
    return { value: undefined, write: { kind: 'complete', ...completion() } }
  })
  expect((await other.reserve(reservation('answered'))).kind).toBe('completed')
})

test('who waits too long for the lane is sent away, and his operation does not happen', async () => {
  let passedMs = 0
  const clock = { ...systemClock, elapsed: () => passedMs }
  const store = await openStore({ clock, transactionTimeout: '20s', busyTimeout: '1s' })
  const claim = await claimed(store, 'k')
  const inTime = gate<Promise<unknown>>()
  const late: Promise<unknown>[] = []
  await store.transaction(claim, async () => {
    late.push(rejection(store.reserve(reservation('late'))), rejection(store.renew(claim, 1_000)))
    passedMs += 21_001
    inTime.open(store.reserve(reservation('in time')))
    return { value: undefined, write: { kind: 'complete', ...completion() } }
  })
  for (const error of await Promise.all(late)) expect(error).toMatchObject({ code: 'store_busy' })
  expect(await inTime.opened).toMatchObject({ kind: 'reserved' })
  expect(await store.find({ scope: scopeOf('acme'), key: keyOf('late') })).toBeUndefined()
})

test('sweep and reap touch what is due and no more than they are told to', async () => {
  const store = await openStore()
  const due = { leaseMs: 0, retentionMs: 0, tombstoneMs: 0 } as const
  const verdicts = await Promise.all(names(5).map((key) => store.reserve(reservation(key, due))))
  const live = await claimed(store, 'live')
  expect(await store.sweep(3)).toHaveLength(3)
  expect(await store.sweep(3)).toHaveLength(2)
  await Promise.all(verdicts.map((verdict) => store.complete(claimOf(verdict), completion())))
  expect(await store.reap(3)).toEqual({ buried: 3, deleted: 0 })
  expect(await store.reap(3)).toEqual({ buried: 2, deleted: 3 })
  expect(await store.reap(3)).toEqual({ buried: 0, deleted: 2 })
  expect((await store.list({ limit: 10 })).records).toEqual([await store.find(live)])
})

test('a buried record keeps no byte of its answer', async () => {
  const store = await openStore()
  const claim = await claimed(store, 'k', { retentionMs: 0 })
  await store.complete(claim, completion('secret'))
  expect(await store.reap(1)).toEqual({ buried: 1, deleted: 0 })
  const columns = 'response_status_code, response_headers, response_body, response_schema_version, progress'
  const { rows } = await store.query({ sql: `SELECT ${columns} FROM hapax_records WHERE status = 'expired'` })
  expect(rows.map((row) => Object.values(row))).toEqual([[null, null, null, null, null]])
})

function names(count: number, prefix = 'key'): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
}

/** The frames of the write-ahead log that end a transaction: those that name the size of the database after it. */
function commitsIn(path: string): number {
  const log = readFileSync(`${path}-wal`)
  const [headerBytes, frameHeaderBytes, pageBytes] = [32, 24, log.readUInt32BE(8)]
  const salt = log.subarray(16, 24)
  let commits = 0
  for (let at = headerBytes; at < log.length; at += frameHeaderBytes + pageBytes) {
    const isCurrent = log.subarray(at + 8, at + 16).equals(salt)
    if (isCurrent && log.readUInt32BE(at + 4) > 0) commits++
  }
  return commits
}
