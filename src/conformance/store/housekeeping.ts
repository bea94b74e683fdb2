import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import { present, same } from '../expect.js'
import {
  claimed,
  completed,
  completion,
  doubted,
  failed,
  failure,
  halfDone,
  keys,
  leaseMs,
  reservation,
  retentionMs,
  tombstoneMs,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** The sweeper and the reaper: bounded, on every node at once, and harmless to whatever lives. */
export const housekeeping: Readonly<Record<string, Show>> = {
  'a sweep takes at most as many as it was told, and the next ones take the rest': async ({ store, at }) => {
    for (const key of keys(7)) await claimed(store, { key })
    await at(leaseMs)
    const swept = [await store.sweep(3), await store.sweep(3), await store.sweep(3), await store.sweep(3)]
    same(
      swept.map(({ length }) => length),
      [3, 3, 1, 0],
    )
    same(
      swept
        .flat()
        .map(({ key }) => key)
        .sort(),
      [...keys(7)].sort(),
    )
  },

  'a sweep is not held up by claims that it must leave alone': async ({ store, at }) => {
    for (const key of keys(5)) await claimed(store, { key, onLeaseOver: 'resume' })
    const last = await claimed(store, { key: keyOf('last') })
    await at(leaseMs)
    same(
      (await store.sweep(1)).map(({ key }) => key),
      [last.key],
    )
  },

  'a sweep never touches what lives': async ({ store, at }) => {
    const living = await oneOfEach(store)
    const resumable = await claimed(store, { key: keyOf('resumable'), onLeaseOver: 'resume' })
    await at(leaseMs)
    const renewed = await claimed(store, { key: keyOf('renewed') })
    await leavesAlone(store, [...living, resumable, renewed], async () => same(await store.sweep(100), []))
  },

  'a reaping buries at most as many as it was told, and the next ones bury the rest': async ({ store, at }) => {
    for (const key of keys(5)) await completed(store, { key })
    await at(retentionMs)
    same(
      [await store.reap(2), await store.reap(2), await store.reap(2), await store.reap(2)],
      [
        { buried: 2, deleted: 0 },
        { buried: 2, deleted: 0 },
        { buried: 1, deleted: 0 },
        { buried: 0, deleted: 0 },
      ],
    )
  },

  'a reaping deletes at most as many as it was told, and the next ones delete the rest': async ({ store, at }) => {
    for (const key of keys(5)) await completed(store, { key })
    await at(retentionMs)
    await store.reap(10)
    await at(retentionMs + tombstoneMs)
    same(
      [await store.reap(2), await store.reap(2), await store.reap(2), await store.reap(2)],
      [
        { buried: 0, deleted: 2 },
        { buried: 0, deleted: 2 },
        { buried: 0, deleted: 1 },
        { buried: 0, deleted: 0 },
      ],
    )
  },

  'a record is buried at its deadline and deleted when the tombstone has stood its time': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs - 1)
    same(await store.reap(10), { buried: 0, deleted: 0 })
    await at(retentionMs)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    await at(retentionMs + tombstoneMs - 1)
    same(await store.reap(10), { buried: 0, deleted: 0 })
    assert.equal(present(await store.find(reservation())).state, 'expired')
    await at(retentionMs + tombstoneMs)
    same(await store.reap(10), { buried: 0, deleted: 1 })
    assert.equal(await store.find(reservation()), undefined)
  },

  'a failure with nothing committed is buried like an answer': async ({ store, at }) => {
    const claim = await failed(store)
    await at(retentionMs)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    assert.equal(present(await store.find(claim)).state, 'expired')
  },

  'a failure that was to go on by itself is buried without the time that it said': async ({ store, at }) => {
    const claim = await claimed(store)
    await store.fail(claim, { ...failure, resumeAfterMs: 1_000 })
    await store.postpone(claim, { generation: 1, looks: 3, afterMs: 2_000 })
    await at(retentionMs)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    const { state, looks, reconcileAfter } = present(await store.find(claim))
    same([state, looks, reconcileAfter], ['expired', 0, undefined])
  },

  'a record that nobody buried in time is buried before it is deleted': async ({ store, at }) => {
    const claim = await completed(store)
    await at(10 * (retentionMs + tombstoneMs))
    same(await store.reap(10), { buried: 1, deleted: 0 })
    assert.equal(present(await store.find(claim)).answer, undefined)
    same(await store.reap(10), { buried: 0, deleted: 1 })
  },

  'a reaping never touches what lives': async ({ store, at }) => {
    const forever = await completed(store, { key: keyOf('forever'), retentionMs: undefined })
    const running = await claimed(store, { key: keyOf('running') })
    const doubtful = await doubted(store, { key: keyOf('doubtful') })
    const unfinished = await halfDone(store, { key: keyOf('unfinished') })
    await at(10 * (retentionMs + tombstoneMs))
    const recent = await oneOfEach(store)
    await leavesAlone(store, [forever, running, doubtful, unfinished, ...recent], async () => {
      same(await store.reap(100), { buried: 0, deleted: 0 })
    })
  },

  'a reaping is not held up by records that it must leave alone': async ({ store, at }) => {
    for (const key of keys(5)) await doubted(store, { key })
    const last = await completed(store, { key: keyOf('last') })
    await at(retentionMs)
    same(await store.reap(1), { buried: 1, deleted: 0 })
    assert.equal(present(await store.find(last)).state, 'expired')
  },

  'two reapers share the work between them, each record once': async ({ store, open, at }) => {
    const other = await open()
    for (const key of keys(20)) await completed(store, { key })
    await at(retentionMs)
    const reaped = await Promise.all([store.reap(15), other.reap(15), store.reap(15), other.reap(15)])
    assert.equal(
      reaped.reduce((sum, { buried }) => sum + buried, 0),
      20,
    )
  },

  'a key used anew while the reaper runs is not buried': async ({ store, open, at }) => {
    const other = await open()
    for (const key of keys(20)) await completed(store, { key })
    await at(retentionMs)
    const [, ...claims] = await Promise.all([other.reap(100), ...keys(20).map((key) => claimed(store, { key }))])
    for (const claim of claims) {
      assert.equal(claim.generation, 2)
      assert.ok(await store.complete(claim, completion()))
    }
  },
}

/** A record in every state, none of them past its retention. */
async function oneOfEach(store: AnyStore): Promise<readonly { readonly key: ReturnType<typeof keyOf> }[]> {
  return [
    await completed(store, { key: keyOf('a completed one') }),
    await failed(store, { key: keyOf('a failed one') }),
    await halfDone(store, { key: keyOf('a half-done one') }),
    await doubted(store, { key: keyOf('a doubted one') }),
  ]
}

async function leavesAlone(
  store: AnyStore,
  names: readonly { readonly key: ReturnType<typeof keyOf> }[],
  pass: () => Promise<void>,
): Promise<void> {
  const findAll = () => Promise.all(names.map(({ key }) => store.find(reservation({ key }))))
  const before = (await findAll()).map(present)
  await pass()
  same(await findAll(), before)
}
