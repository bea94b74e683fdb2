import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import { present, same, verdictOf } from '../expect.js'
import {
  anotherRequest,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  halfDone,
  leaseMs,
  reservation,
  retentionMs,
  settlement,
  tombstoneMs,
} from '../given.js'
import type { Show } from '../stage.js'

/** When a key is free again, what it is then, and what is never free. */
export const expiry: Readonly<Record<string, Show>> = {
  'an answer is replayed to the last millisecond and is expired at its deadline, though no reaper ran': async ({
    store,
    at,
  }) => {
    await completed(store)
    await at(retentionMs - 1)
    verdictOf(await store.reserve(reservation()), 'completed')
    await at(retentionMs)
    verdictOf(await store.reserve(reservation()), 'reserved')
  },

  'whoever is given an answer is told how much of its retention is left': async ({ store, at }) => {
    await completed(store)
    await completed(store, { key: keyOf('kept for ever'), retentionMs: undefined })
    await at(1)
    const left = async (key?: string) =>
      verdictOf(await store.reserve(reservation(key === undefined ? {} : { key: keyOf(key) })), 'completed').expiresInMs
    same([await left(), await left('kept for ever')], [retentionMs - 1, undefined])
  },

  'a failure is resumed to the last millisecond and is expired at its deadline, though no reaper ran': async ({
    store,
    at,
  }) => {
    const [early, late] = [keyOf('early'), keyOf('late')]
    await failed(store, { key: early })
    await failed(store, { key: late })
    await at(retentionMs - 1)
    assert.equal(verdictOf(await store.reserve(reservation({ key: early })), 'resumed').claim.generation, 1)
    await at(retentionMs)
    assert.equal(verdictOf(await store.reserve(reservation({ key: late })), 'reserved').claim.generation, 2)
  },

  'a key used anew is the next generation of the same record, with nothing left of the last': async ({
    store,
    at,
    startedAt,
  }) => {
    const first = await doubted(store)
    await store.settle(first, settlement({ kind: 'completed', ...completion() }))
    const before = present(await store.find(first))
    await at(retentionMs)
    const asked = reservation({
      retentionMs: 9,
      tombstoneMs: 8,
      leaseMs: 7,
      onLeaseOver: 'resume',
      operation: 'refunds.create',
    })
    const { claim, record } = verdictOf(await store.reserve(asked), 'reserved')
    const now = startedAt + retentionMs
    same(claim, { ...first, claimId: asked.claimId, generation: 2, fence: first.fence + 1 })
    same(record, {
      ...claim,
      id: before.id,
      state: 'in_progress',
      operation: 'refunds.create',
      fingerprint: asked.fingerprints[0],
      attempt: 1,
      leaseUntil: now + 7,
      onLeaseOver: 'resume',
      recoveryPoint: 'started',
      isBegun: false,
      hasEffects: false,
      looks: 0,
      evidence: [],
      createdAt: now,
      lastRunAt: now,
      expiresAt: now + 9,
      retentionMs: 9,
      tombstoneMs: 8,
    })
    same(await store.find(claim), record)
  },

  'an expired key may be used anew by another request': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    const { record } = verdictOf(await store.reserve(reservation(anotherRequest)), 'reserved')
    assert.equal(record.generation, 2)
    assert.equal(record.fingerprint, anotherRequest.fingerprints[0])
    verdictOf(await store.reserve(reservation()), 'mismatched')
  },

  'a tombstone keeps key and generation, not the answer': async ({ store, at }) => {
    const claim = await completed(store)
    await at(retentionMs)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    const { state, generation, fence, answer, progress } = present(await store.find(claim))
    same({ state, generation, fence, answer, progress }, { state: 'expired', generation: 1, fence: claim.fence })
  },

  'a tombstone used anew is the next generation of the same record': async ({ store, at }) => {
    const claim = await completed(store)
    await at(retentionMs)
    await store.reap(10)
    const buried = present(await store.find(claim))
    const { record } = verdictOf(await store.reserve(reservation(anotherRequest)), 'reserved')
    same([record.id, record.generation, record.fence], [buried.id, 2, claim.fence + 1])
  },

  'a record that is kept for ever never expires': async ({ store, at }) => {
    const claim = await completed(store, { retentionMs: undefined })
    await at(100 * 365 * retentionMs)
    same(await store.reap(10), { buried: 0, deleted: 0 })
    verdictOf(await store.reserve(reservation()), 'completed')
    assert.equal(present(await store.find(claim)).expiresAt, undefined)
  },

  'an unknown outcome never expires': async ({ store, at }) => {
    await doubted(store)
    await at(10 * (retentionMs + tombstoneMs))
    same(await store.reap(10), { buried: 0, deleted: 0 })
    verdictOf(await store.reserve(reservation({ onExpired: 'run' })), 'unknown')
  },

  'a key in progress never expires while its lease lives': async ({ store, at }) => {
    const claim = await claimed(store)
    await at(10 * (retentionMs + tombstoneMs))
    assert.ok(await store.renew(claim, leaseMs))
    same(await store.reap(10), { buried: 0, deleted: 0 })
    verdictOf(await store.reserve(reservation()), 'in_progress')
    verdictOf(await store.reserve(reservation(anotherRequest)), 'mismatched')
  },

  'a key in progress whose lease ran out never expires either': async ({ store, at }) => {
    await claimed(store, { onLeaseOver: 'resume' })
    await at(10 * (retentionMs + tombstoneMs))
    same(await store.reap(10), { buried: 0, deleted: 0 })
    assert.equal(verdictOf(await store.reserve(reservation()), 'resumed').claim.generation, 1)
  },

  'half-done work never expires': async ({ store, at }) => {
    await halfDone(store)
    await at(10 * (retentionMs + tombstoneMs))
    same(await store.reap(10), { buried: 0, deleted: 0 })
    verdictOf(await store.reserve(reservation(anotherRequest)), 'mismatched')
    assert.equal(verdictOf(await store.reserve(reservation()), 'resumed').claim.generation, 1)
  },

  'completing restarts the retention': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    await at(1_000)
    same(await store.complete(claim, completion()), { expiresAt: startedAt + 1_000 + retentionMs })
    const record = present(await store.find(claim))
    same([record.completedAt, record.expiresAt], [startedAt + 1_000, startedAt + 1_000 + retentionMs])
    await at(retentionMs + 999)
    verdictOf(await store.reserve(reservation()), 'completed')
    await at(retentionMs + 1_000)
    verdictOf(await store.reserve(reservation()), 'reserved')
  },

  'completing what is kept for ever names no deadline': async ({ store }) => {
    const claim = await claimed(store, { retentionMs: undefined })
    same(await store.complete(claim, completion()), { expiresAt: undefined })
  },

  'failing restarts the retention': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    await at(1_000)
    await store.fail(claim, { errorCode: 'late' })
    assert.equal(present(await store.find(claim)).expiresAt, startedAt + 1_000 + retentionMs)
  },

  'a retention of nothing is expired at once': async ({ store }) => {
    await completed(store, { retentionMs: 0 })
    assert.equal(verdictOf(await store.reserve(reservation()), 'reserved').claim.generation, 2)
  },
}
