import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import { present, same, verdictOf } from '../expect.js'
import { checkpoint, claimed, completion, keys, leaseMs, reservation } from '../given.js'
import type { Show } from '../stage.js'

/** How long a claim lives, who prolongs it, and what becomes of one that nobody prolonged. */
export const leases: Readonly<Record<string, Show>> = {
  'a lease lives to its last millisecond and is over at its end': async ({ store, at }) => {
    await claimed(store, { onLeaseOver: 'resume' })
    await at(leaseMs - 1)
    same(await store.reserve(reservation()), { kind: 'in_progress', leaseLeftMs: 1 })
    await at(leaseMs)
    verdictOf(await store.reserve(reservation()), 'resumed')
  },

  'renewing moves the end of the lease to so much from now': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    const before = present(await store.find(claim))
    await at(10_000)
    assert.equal(await store.renew(claim, 5_000), true)
    same(await store.find(claim), { ...before, leaseUntil: startedAt + 15_000 })
    same(await store.reserve(reservation()), { kind: 'in_progress', leaseLeftMs: 5_000 })
  },

  'a checkpoint keeps the recovery point and what the phases left, and renews the lease': async ({
    store,
    at,
    startedAt,
  }) => {
    const claim = await claimed(store)
    const before = present(await store.find(claim))
    await at(10_000)
    assert.equal(await store.checkpoint(claim, { ...checkpoint, onLeaseOver: 'resume' }), true)
    const { recoveryPoint, progress } = checkpoint
    const leaseUntil = startedAt + 10_000 + leaseMs
    same(await store.find(claim), { ...before, recoveryPoint, progress, leaseUntil, onLeaseOver: 'resume' })
  },

  'a checkpoint without progress leaves the progress as it was': async ({ store }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, checkpoint)
    assert.ok(await store.checkpoint(claim, { recoveryPoint: 'charge_created', onLeaseOver: 'resume', leaseMs }))
    const { progress, recoveryPoint } = present(await store.find(claim))
    same({ progress, recoveryPoint }, { progress: checkpoint.progress, recoveryPoint: 'charge_created' })
  },

  'a run-out lease that may resume is resumed by the next request, at its recovery point': async ({
    store,
    open,
    at,
  }) => {
    const claim = await claimed(store)
    await store.checkpoint(claim, { ...checkpoint, onLeaseOver: 'resume' })
    await at(leaseMs)
    const next = verdictOf(await (await open()).reserve(reservation()), 'resumed')
    assert.equal(next.claim.fence, claim.fence + 1)
    assert.equal(next.record.recoveryPoint, checkpoint.recoveryPoint)
    same(next.record.progress, checkpoint.progress)
  },

  'a run-out lease that may not resume is unknown to the next request, with its fence': async ({
    store,
    at,
    startedAt,
  }) => {
    const claim = await claimed(store, { onLeaseOver: 'doubt' })
    const before = present(await store.find(claim))
    await at(leaseMs)
    same(await store.reserve(reservation()), { kind: 'unknown', reconcileInMs: 0, swept: true })
    same(await store.reserve(reservation()), { kind: 'unknown', reconcileInMs: 0 })
    const { errorCode, ...after } = present(await store.find(claim))
    assert.ok(errorCode)
    const now = startedAt + leaseMs
    same(after, { ...before, state: 'unknown', leaseUntil: undefined, reconcileAfter: now, doubtedAt: now })
  },

  'a run-out lease that may not resume is unknown to the sweeper, with its fence': async ({ store, at, startedAt }) => {
    const claim = await claimed(store, { onLeaseOver: 'doubt' })
    const before = present(await store.find(claim))
    await at(leaseMs - 1)
    same(await store.sweep(10), [])
    await at(leaseMs)
    const swept = await store.sweep(10)
    same(swept, [await store.find(claim)])
    const { errorCode, ...after } = present(swept[0])
    assert.ok(errorCode)
    const now = startedAt + leaseMs
    same(after, { ...before, state: 'unknown', leaseUntil: undefined, reconcileAfter: now, doubtedAt: now })
  },

  'what a checkpoint declared decides how its lease runs out': async ({ store, at }) => {
    const doubting = await claimed(store, { key: keyOf('doubting'), onLeaseOver: 'resume' })
    const resuming = await claimed(store, { key: keyOf('resuming'), onLeaseOver: 'doubt' })
    await store.checkpoint(doubting, { ...checkpoint, onLeaseOver: 'doubt' })
    await store.checkpoint(resuming, { ...checkpoint, onLeaseOver: 'resume' })
    await at(leaseMs)
    verdictOf(await store.reserve(reservation({ key: doubting.key })), 'unknown')
    verdictOf(await store.reserve(reservation({ key: resuming.key })), 'resumed')
  },

  'what a resumption declared decides how its lease runs out': async ({ store, at }) => {
    await claimed(store, { onLeaseOver: 'resume' })
    await at(leaseMs)
    await claimed(store, { onLeaseOver: 'doubt' })
    await at(2 * leaseMs)
    verdictOf(await store.reserve(reservation()), 'unknown')
  },

  'requests and sweepers that find a run-out lease together turn it unknown once': async ({ store, open, at }) => {
    const other = await open()
    const claim = await claimed(store, { onLeaseOver: 'doubt' })
    await at(leaseMs)
    const [first, second, ...verdicts] = await Promise.all([
      store.sweep(10),
      other.sweep(10),
      ...[store, other, store, other].map((node) => node.reserve(reservation())),
    ])
    for (const verdict of verdicts) verdictOf(verdict, 'unknown')
    assert.ok(first.length + second.length <= 1)
    assert.equal(present(await store.find(claim)).fence, claim.fence)
  },

  'two sweepers share the run-out leases between them, each one once': async ({ store, open, at }) => {
    const other = await open()
    for (const key of keys(20)) await claimed(store, { key })
    await at(leaseMs)
    const swept = await Promise.all([store.sweep(15), other.sweep(15), store.sweep(15), other.sweep(15)])
    assert.equal(swept.flat().length, 20)
    assert.equal(new Set(swept.flat().map(({ key }) => key)).size, 20)
  },

  'a holder whose lease ran out, and whom nobody replaced, still holds': async ({ store, at }) => {
    const renewing = await claimed(store, { key: keyOf('renewing') })
    const completing = await claimed(store, { key: keyOf('completing') })
    await at(10 * leaseMs)
    assert.equal(await store.renew(renewing, leaseMs), true)
    assert.ok(await store.complete(completing, completion()))
    same(await store.sweep(10), [])
  },
}
