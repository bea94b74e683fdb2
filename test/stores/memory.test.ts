import { keyOf, type Reservation, scopeOf, systemClock } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { expect, test } from 'vitest'

// What every store promises is shown by test/conformance/memory.test.ts; here stands what only this one does.

const asked: Reservation = {
  scope: scopeOf('acme'),
  key: keyOf('key'),
  claimId: 'first',
  operation: 'payments.create',
  fingerprints: ['v1:aa' as Reservation['fingerprints'][0]],
  leaseMs: 100,
  retentionMs: 1_000,
  tombstoneMs: 10_000,
  onLeaseOver: 'doubt',
  onExpired: 'run',
  onNew: 'take',
}

test('a memory store says that it may forget', () => {
  expect(memoryStore()).toMatchObject({ name: 'memory', grade: 'best-effort' })
})

test('a memory store has no transactions, rather than some that promise nothing', () => {
  expect(memoryStore().transaction).toBeUndefined()
})

test('two memory stores share nothing', async () => {
  const [one, other] = [memoryStore(), memoryStore()]
  await one.reserve(asked)
  expect(await other.find(asked)).toBeUndefined()
})

test('without a clock of its own, a memory store goes by the time of the system', async () => {
  const store = memoryStore()
  const before = systemClock.now()
  await store.reserve(asked)
  const createdAt = (await store.find(asked))?.createdAt
  expect(createdAt).toBeGreaterThanOrEqual(before)
  expect(createdAt).toBeLessThanOrEqual(systemClock.now())
})

test('a memory store keeps what it holds when it is closed and opened again', async () => {
  const store = memoryStore()
  await store.reserve(asked)
  await store.close()
  await store.open()
  expect(await store.find(asked)).toMatchObject({ claimId: 'first' })
})
