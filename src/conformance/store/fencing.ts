import assert from 'node:assert/strict'
import type { Claim, StoredRecord } from '../../engine/record.js'
import { present, same, verdictOf } from '../expect.js'
import {
  anotherRequest,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  leaseMs,
  reservation,
  retentionMs,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'
import { changesNothing, writes } from '../stale.js'

/** Who may write: the last claim and nobody else, however late he comes and whatever he tries. */
export const fencing: Readonly<Record<string, Show>> = {
  'each claim of a key has a higher fence, across generations too': async ({ store, at }) => {
    const fences = [(await failed(store)).fence]
    fences.push((await claimed(store, { onLeaseOver: 'resume' })).fence)
    await at(leaseMs)
    fences.push((await failed(store)).fence)
    await at(leaseMs + retentionMs)
    fences.push((await completed(store)).fence)
    await at(leaseMs + 2 * retentionMs)
    await store.reap(10)
    fences.push((await claimed(store)).fence)
    same(fences, [1, 2, 3, 4, 5])
  },

  'a claim whose lease was taken over can change nothing': async ({ store, open, at }) => {
    const stale = await claimed(store, { onLeaseOver: 'resume' })
    await at(leaseMs)
    await claimed(await open())
    await changesNothing(store, stale)
  },

  'a claim that failed and was resumed by another can change nothing': async ({ store }) => {
    const stale = await failed(store)
    await claimed(store)
    await changesNothing(store, stale)
  },

  'a claim can change nothing after another one completed the key': async ({ store }) => {
    const stale = await failed(store)
    await completed(store)
    await changesNothing(store, stale)
  },

  'a claim can change nothing after another one left it in doubt': async ({ store }) => {
    const stale = await failed(store)
    await doubted(store)
    await changesNothing(store, stale)
  },

  'a claim of a released record can change nothing in the one that was reserved anew': async ({ store }) => {
    const stale = await claimed(store)
    await store.release(stale)
    const anew = await claimed(store)
    assert.notEqual(anew.claimId, stale.claimId)
    await changesNothing(store, stale)
  },

  'a claim of a released record brings nothing back': async ({ store }) => {
    const stale = await claimed(store)
    await store.release(stale)
    for (const [step, attempt] of writes(store, stale)) assert.equal(await attempt(), false, step)
    assert.equal(await store.find(stale), undefined)
  },

  'a claim of an expired generation can change nothing in the next one': async ({ store, at }) => {
    const stale = await completed(store)
    await at(retentionMs)
    await claimed(store, anotherRequest)
    await changesNothing(store, stale)
  },

  'a claim can change nothing in a tombstone': async ({ store, at }) => {
    const stale = await completed(store)
    await at(retentionMs)
    await store.reap(10)
    await changesNothing(store, stale)
  },

  'the right fence with the wrong claim id can change nothing': async ({ store }) => {
    const claim = await claimed(store)
    await changesNothing(store, { ...claim, claimId: reservation().claimId })
  },

  'the right claim id with the wrong fence can change nothing': async ({ store }) => {
    const claim = await claimed(store)
    await changesNothing(store, { ...claim, fence: claim.fence + 1 })
    await changesNothing(store, { ...claim, fence: claim.fence - 1 })
  },

  'the right claim id and fence in the wrong generation can change nothing': async ({ store }) => {
    const claim = await claimed(store)
    await changesNothing(store, { ...claim, generation: claim.generation + 1 })
  },

  'a claim that completed can change nothing more': async ({ store }) => {
    await changesNothing(store, await completed(store), { butMayRepeat: 'complete' })
  },

  'a claim that failed can change nothing more': async ({ store }) => {
    await changesNothing(store, await failed(store), { butMayRepeat: 'fail' })
  },

  'a claim that is in doubt can only complete': async ({ store }) => {
    const claim = await doubted(store)
    const before = await store.find(claim)
    for (const [step, attempt] of writes(store, claim)) {
      if (step !== 'complete' && step !== 'doubt') assert.equal(await attempt(), false, step)
    }
    same(await store.find(claim), before)
  },

  'a repeated completion answers as the first time, and the first answer stands': async ({ store, at, startedAt }) => {
    const claim = await claimed(store)
    await at(1_000)
    const first = await store.complete(claim, completion('first'))
    same(first, { expiresAt: startedAt + 1_000 + retentionMs })
    await at(2_000)
    await repeatsItself(store, claim, async () => same(await store.complete(claim, completion('second')), first))
    same(verdictOf(await store.reserve(reservation()), 'completed').answer, completion('first').answer)
  },

  'a repeated failure answers as the first time, and the first reason stands': async ({ store, at }) => {
    const claim = await failed(store)
    await at(1_000)
    await repeatsItself(store, claim, async () => assert.equal(await store.fail(claim, { errorCode: 'later' }), true))
  },

  'a repeated doubt answers as the first time, and the first reason stands': async ({ store, at }) => {
    const claim = await doubted(store)
    await at(1_000)
    await repeatsItself(store, claim, async () => {
      assert.equal(await store.doubt(claim, { errorCode: 'later', reconcileAfterMs: 1 }), true)
    })
  },
}

async function repeatsItself(store: AnyStore, claim: Claim, repeat: () => Promise<void>): Promise<void> {
  const before: StoredRecord = present(await store.find(claim))
  await repeat()
  same(await store.find(claim), before)
}
