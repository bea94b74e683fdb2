import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import { same } from '../expect.js'
import {
  checkpoint,
  claimed,
  completed,
  doubted,
  failed,
  halfDone,
  keys,
  leaseMs,
  reason,
  retentionMs,
  settlement,
  tombstoneMs,
} from '../given.js'
import { dead, done, effect, result, settled, taken, takenOne, unknown, written, writtenBy } from '../given-effects.js'
import type { Show } from '../stage.js'

const nobody = { count: 0, oldestMs: 0 }
const noDoubts = { ...nobody, leftToOperator: 0 }
const noEffects = { waiting: 0, lagMs: 0, unknown: noDoubts, dead: 0 }

/** What gauges are made of. */
export const measuring: Readonly<Record<string, Show>> = {
  'where nothing is on record, nothing is measured': async ({ store, measure }) => {
    const { keys, inProgress, unknown, effects = noEffects } = await measure(store)(10)
    same({ keys, inProgress, unknown, effects }, { keys: 0, inProgress: nobody, unknown: noDoubts, effects: noEffects })
  },

  'a key is measured in whatever state, on every node, until it is buried': async ({ store, open, at, measure }) => {
    const other = await open()
    const [first, second, third, fourth, fifth] = keys(5).map((key) => ({ key }))
    await completed(store, first)
    await failed(store, second)
    await halfDone(store, third)
    await doubted(store, fourth)
    await claimed(store, fifth)
    assert.equal((await measure(other)(100)).keys, 5)
    await at(retentionMs)
    assert.equal((await measure(other)(100)).keys, 5, 'past its retention it is on record until a reaper has come')
    await store.reap(100)
    assert.equal((await measure(other)(100)).keys, 3)
  },

  'the oldest run that has not ended is told by when it began, and no renewal makes it younger': async (stage) => {
    const { store, at, measure } = stage
    const [first, second, third] = keys(3).map((key) => ({ key }))
    const oldest = await claimed(store, { ...first, onLeaseOver: 'resume' })
    await at(1_000)
    await claimed(store, { ...second, onLeaseOver: 'doubt' })
    await completed(store, third)
    await at(5_000)
    await store.renew(oldest, leaseMs)
    same((await measure(store)(100)).inProgress, { count: 2, oldestMs: 5_000 })
    await store.checkpoint(oldest, { ...checkpoint, onLeaseOver: 'doubt' })
    same((await measure(store)(100)).inProgress, { count: 2, oldestMs: 5_000 })
    await store.release(await claimed(store, { key: keys(4)[3] ?? oldest.key }))
    await store.doubt(oldest, reason)
    same((await measure(store)(100)).inProgress, { count: 1, oldestMs: 4_000 })
  },

  'a run that goes on after another is as old as itself': async ({ store, at, measure }) => {
    await failed(store)
    await at(60_000)
    await claimed(store)
    await at(61_000)
    same((await measure(store)(100)).inProgress, { count: 1, oldestMs: 1_000 })
  },

  'the oldest doubt is told by when it arose, and how many a person is to look at': async ({ store, at, measure }) => {
    const [first, second] = keys(2).map((key) => ({ key }))
    const left = await doubted(store, first)
    await at(2_000)
    const other = await doubted(store, second)
    await store.postpone(left, { generation: 1, looks: 1, afterMs: undefined })
    await at(9_000)
    same((await measure(store)(100)).unknown, { count: 2, oldestMs: 9_000, leftToOperator: 1 })
    await store.settle(left, settlement({ kind: 'not_landed' }))
    same((await measure(store)(100)).unknown, { count: 1, oldestMs: 7_000, leftToOperator: 0 })
    await store.settle(other, settlement({ kind: 'not_landed' }))
    same((await measure(store)(100)).unknown, noDoubts)
  },

  'a claim whose lease is over is still in progress, until it is swept': async ({ store, at, measure }) => {
    await claimed(store)
    await at(leaseMs)
    same((await measure(store)(100)).inProgress, { count: 1, oldestMs: leaseMs })
    await store.sweep(10)
    const { inProgress, unknown } = await measure(store)(100)
    same({ inProgress, unknown }, { inProgress: nobody, unknown: { ...noDoubts, count: 1 } })
  },

  'of each kind no more are counted than asked': async ({ store, measure }) => {
    for (const key of keys(3)) await doubted(store, { key })
    for (const key of keys(6).slice(3)) await claimed(store, { key, onLeaseOver: 'resume' })
    const { keys: all, inProgress, unknown } = await measure(store)(2)
    same([inProgress.count, unknown.count], [2, 2])
    assert.ok(all >= 2, `beyond the bound keys may be estimated, but ${all} is less than the bound`)
  },

  'a measure refuses a bound that is no whole number from 1': async ({ store, measure }) => {
    for (const atMost of [0, -1, 1.5, Number.NaN])
      await assert.rejects(measure(store)(atMost), `measure took ${atMost} for a bound`)
  },

  'what a reaping would take is counted up to a bound, and not taken by that': async (stage) => {
    const { store, at, reapable } = stage
    const left = { buried: 0, deleted: 0 }
    for (const key of keys(3)) await completed(store, { key })
    for (const [index, key] of keys(6).slice(3).entries()) await [doubted, claimed, halfDone][index]?.(store, { key })
    same(await reapable(store)(100), left)
    await at(retentionMs)
    same(
      [await reapable(store)(2), await reapable(store)(100)],
      [
        { ...left, buried: 2 },
        { ...left, buried: 3 },
      ],
    )
    same([await store.reap(100), await reapable(store)(100)], [{ ...left, buried: 3 }, left])
    await at(retentionMs + tombstoneMs)
    same(
      [await reapable(store)(2), await reapable(store)(100)],
      [
        { ...left, deleted: 2 },
        { ...left, deleted: 3 },
      ],
    )
    same([await store.reap(100), await reapable(store)(100)], [{ ...left, deleted: 3 }, left])
    for (const atMost of [0, -1, 1.5, Number.NaN])
      await assert.rejects(reapable(store)(atMost), `reapable took ${atMost} for a bound`)
  },

  'measuring changes nothing': async ({ store, at, measure }) => {
    const claim = await claimed(store)
    await at(leaseMs)
    const before = await store.find(claim)
    await measure(store)(10)
    same(await store.find(claim), before)
  },
}

export const measuringEffects: Readonly<Record<string, Show>> = {
  'what has effects that are not final is nothing that a reaping would take': async (stage) => {
    const { store, at, reapable } = stage
    await writtenBy(stage, { key: keyOf('a') }, [effect('a')])
    await at(retentionMs)
    same(await reapable(store)(100), { buried: 0, deleted: 0 })
    await settled(stage, await takenOne(stage), done)
    same(await reapable(store)(100), { buried: 1, deleted: 0 })
  },

  'an effect lags from when it could be carried out, and waits from when it was written': async (stage) => {
    const { store, at, measure } = stage
    await written(stage, effect('soon'), effect('later', { dueInMs: 60_000 }))
    same((await measure(store)(100)).effects, { ...noEffects, waiting: 2 })
    await at(5_000)
    same((await measure(store)(100)).effects, { ...noEffects, waiting: 2, lagMs: 5_000 })
    await taken(stage)
    same((await measure(store)(100)).effects, { ...noEffects, waiting: 1 }, 'what a worker holds does not lag')
    await at(20_000)
    same((await measure(store)(100)).effects?.lagMs, 5_000, 'and lags again from when its lease is over')
  },

  'effects behind another of their order wait, and do not lag by themselves': async (stage) => {
    const { store, at, measure } = stage
    await written(stage, effect('one', { order: 'ride-7' }), effect('two', { order: 'ride-7' }))
    await at(1_000)
    await taken(stage)
    same((await measure(store)(100)).effects, { ...noEffects, waiting: 1 })
  },

  'dead effects and doubts about effects are counted, and how old the oldest doubt is': async (stage) => {
    const { store, at, measure } = stage
    await written(stage, effect('a'), effect('b'), effect('c'))
    const [first, second, third] = await taken(stage)
    assert.ok(first !== undefined && second !== undefined && third !== undefined)
    await settled(stage, first, dead)
    await settled(stage, second, unknown)
    await at(3_000)
    await settled(stage, third, { kind: 'unknown', reconcileAfterMs: undefined, errorCode: 'provider_timeout' })
    await at(4_000)
    const counted = { ...noEffects, unknown: { count: 2, oldestMs: 4_000, leftToOperator: 1 }, dead: 1 }
    same((await measure(store)(100)).effects, counted)
    await stage.effects(store).resolve(second, { kind: 'landed', ...result })
    await stage.effects(store).discard([first.id])
    const left = { count: 1, oldestMs: 1_000, leftToOperator: 1 }
    same((await measure(store)(100)).effects, { ...noEffects, waiting: 1, unknown: left })
  },

  'of effects, too, no more are counted than asked': async (stage) => {
    const { store, measure } = stage
    await written(
      stage,
      effect('a'),
      effect('b'),
      effect('c'),
      effect('d', { order: 'o' }),
      effect('e', { order: 'o' }),
    )
    same((await measure(store)(2)).effects?.waiting, 2)
    for (const claim of await taken(stage)) await settled(stage, claim, dead)
    same((await measure(store)(2)).effects?.dead, 2)
  },
}
