import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import type { StoredRecord } from '../../engine/record.js'
import { present, same } from '../expect.js'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  doubted,
  failed,
  failure,
  keys,
  leaseMs,
  reason,
  reservation,
  retentionMs,
  settlement,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** What waits for a worker: who is found, by whom, and how it is put off. */
export const waiting: Readonly<Record<string, Show>> = {
  'a run-out lease that may resume is interrupted, and one that lives is not': async ({ store, at }) => {
    await claimed(store, { key: keyOf('resumable'), onLeaseOver: 'resume' })
    await claimed(store, { key: keyOf('doubtful'), onLeaseOver: 'doubt' })
    await at(1)
    await claimed(store, { key: keyOf('alive'), onLeaseOver: 'resume' })
    await at(leaseMs - 1)
    same(await interrupted(store), [])
    await at(leaseMs)
    same(await interrupted(store), ['resumable'])
  },

  'a failure is interrupted from when it said, and one that said nothing never is': async ({ store, at }) => {
    const later = await claimed(store, { key: keyOf('later') })
    await store.fail(later, { ...failure, resumeAfterMs: 1_000 })
    await failed(store, { key: keyOf('never') })
    await at(999)
    same(await interrupted(store), [])
    await at(1_000)
    same(await interrupted(store), ['later'])
    await at(10 * retentionMs)
    same(await interrupted(store), ['later'])
  },

  'what evidence has settled is interrupted at once': async ({ store }) => {
    const landed = await doubted(store, { key: keyOf('landed') })
    await store.settle(landed, settlement({ kind: 'landed', recoveryPoint: 'charge_created' }))
    const over = await doubted(store, { key: keyOf('over') })
    await store.settle(over, settlement({ kind: 'completed', ...completion() }))
    same(await interrupted(store), ['landed'])
  },

  'neither doubts nor answers nor tombstones are interrupted': async ({ store, at }) => {
    await doubted(store, { key: keyOf('a doubt') })
    await completed(store, { key: keyOf('an answer') })
    await at(retentionMs)
    await store.reap(10)
    same(await interrupted(store), [])
  },

  'only what belongs to the operations that were asked for is found': async ({ store, at }) => {
    const mine = { operation: 'rides.create' }
    await doubted(store, { key: keyOf('my doubt'), ...mine })
    await doubted(store, { key: keyOf('a doubt') })
    await claimed(store, { key: keyOf('my claim'), onLeaseOver: 'resume', ...mine })
    await claimed(store, { key: keyOf('a claim'), onLeaseOver: 'resume' })
    await at(leaseMs)
    same(namesOf(await store.interrupted({ operations: ['rides.create', 'others'], limit: 10 })), ['my claim'])
    same(namesOf(await store.doubts({ operations: ['rides.create'], limit: 10, holdMs: 1 })), ['my doubt'])
    same(await store.interrupted({ operations: [], limit: 10 }), [])
    same(await store.doubts({ operations: [], limit: 10, holdMs: 1 }), [])
  },

  'to look for the interrupted changes nothing, and takes as many as it was told': async ({ store, at }) => {
    for (const key of keys(3)) await claimed(store, { key, onLeaseOver: 'resume' })
    await at(leaseMs)
    const before = await Promise.all(keys(3).map((key) => store.find(reservation({ key }))))
    assert.equal((await store.interrupted({ operations, limit: 2 })).length, 2)
    assert.equal((await store.interrupted({ operations, limit: 10 })).length, 3)
    same(await Promise.all(keys(3).map((key) => store.find(reservation({ key })))), before)
  },

  'whoever goes on with the interrupted reserves it, and then nobody finds it': async ({ store, at }) => {
    const before = await claimed(store, { onLeaseOver: 'resume' })
    await store.checkpoint(before, { ...checkpoint, onLeaseOver: 'resume' })
    await at(leaseMs)
    const [found] = await store.interrupted({ operations, limit: 10 })
    same(found, await store.find(before))
    await claimed(store)
    same(await interrupted(store), [])
  },

  'a doubt is due when it said, comes as it is stored, and is put off': async ({ store, at, startedAt }) => {
    const claim = await doubted(store)
    await at(reason.reconcileAfterMs - 1)
    same(await doubts(store), [])
    await at(reason.reconcileAfterMs)
    const before = present(await store.find(claim))
    const [found] = await store.doubts({ operations, limit: 10, holdMs: 500 })
    const now = startedAt + reason.reconcileAfterMs
    same(found, { ...before, reconcileAfter: now + 500 })
    same(await store.find(claim), found)
    await at(reason.reconcileAfterMs + 499)
    same(await doubts(store), [])
    await at(reason.reconcileAfterMs + 500)
    same(await doubts(store), [claim.key])
  },

  'of nodes that look for doubts at once each doubt comes to one': async ({ store, open, at }) => {
    const other = await open()
    for (const key of keys(20)) await doubted(store, { key })
    await at(reason.reconcileAfterMs)
    const found = await Promise.all(
      [store, other, store, other].map((node) => node.doubts({ operations, limit: 15, holdMs: 1_000 })),
    )
    const names = namesOf([...found.flat(), ...(await store.doubts({ operations, limit: 15, holdMs: 1_000 }))])
    same(names.toSorted(), [...keys(20)].sort())
  },

  'what the sweeper turned into doubt is due at once': async ({ store, at }) => {
    const claim = await claimed(store)
    await at(leaseMs)
    await store.sweep(10)
    same(await doubts(store), [claim.key])
  },

  'a doubt that is postponed is due then, and keeps how often it was looked at': async ({ store, at, startedAt }) => {
    const claim = await doubted(store)
    await at(1_000)
    assert.equal(await store.postpone(claim, { generation: 1, looks: 3, afterMs: 60_000 }), true)
    const { looks, reconcileAfter, doubtedAt } = present(await store.find(claim))
    same([looks, reconcileAfter, doubtedAt], [3, startedAt + 61_000, startedAt])
    await at(60_999)
    same(await doubts(store), [])
    await at(61_000)
    same(await doubts(store), [claim.key])
  },

  'a doubt that is left to a person is never due, and evidence still ends it': async ({ store, at }) => {
    const claim = await doubted(store)
    assert.equal(await store.postpone(claim, { generation: 1, looks: 9, afterMs: undefined }), true)
    await at(10 * retentionMs)
    same(await doubts(store), [])
    same([await state(store, claim), await store.reap(10)], ['unknown', { buried: 0, deleted: 0 }])
    assert.equal(await store.settle(claim, settlement({ kind: 'not_landed' })), true)
  },

  'a failure that is postponed is interrupted then, and one left to a person never': async ({ store, at }) => {
    const later = await failed(store, { key: keyOf('later') })
    const never = await claimed(store, { key: keyOf('never') })
    await store.fail(never, { ...failure, resumeAfterMs: 0 })
    assert.equal(await store.postpone(later, { generation: 1, looks: 1, afterMs: 1_000 }), true)
    assert.equal(await store.postpone(never, { generation: 1, looks: 1, afterMs: undefined }), true)
    same(await interrupted(store), [])
    await at(1_000)
    same(await interrupted(store), ['later'])
  },

  'nothing is postponed that is held, or over, or of another generation, or not there': async ({ store, at }) => {
    const plan = { generation: 1, looks: 5, afterMs: 1_000 }
    const held = await claimed(store, { key: keyOf('held') })
    const over = await completed(store, { key: keyOf('over') })
    const again = await completed(store, { key: keyOf('again') })
    await at(retentionMs)
    await doubted(store, { key: keyOf('again') })
    const names = [held, over, again]
    const before = await Promise.all(names.map((name) => store.find(name)))
    for (const name of names) assert.equal(await store.postpone(name, plan), false)
    assert.equal(await store.postpone(again, { ...plan, generation: 3 }), false)
    assert.equal(await store.postpone(reservation({ key: keyOf('not there') }), plan), false)
    same(await Promise.all(names.map((name) => store.find(name))), before)
    assert.equal(await store.postpone(again, { ...plan, generation: 2 }), true)
  },

  'whoever holds a record anew starts to count its looks anew': async ({ store }) => {
    const claim = await failed(store)
    await store.postpone(claim, { generation: 1, looks: 4, afterMs: 0 })
    const next = await claimed(store)
    same([present(await store.find(next)).looks, present(await store.find(next)).reconcileAfter], [0, undefined])
  },
}

const operations = [reservation().operation]

async function interrupted(store: AnyStore): Promise<readonly string[]> {
  return namesOf(await store.interrupted({ operations, limit: 100 }))
}

async function doubts(store: AnyStore): Promise<readonly string[]> {
  return namesOf(await store.doubts({ operations, limit: 100, holdMs: 1 }))
}

function namesOf(records: readonly StoredRecord[]): readonly string[] {
  return records.map(({ key }) => key)
}

async function state(store: AnyStore, name: Parameters<AnyStore['find']>[0]): Promise<string> {
  return present(await store.find(name)).state
}
