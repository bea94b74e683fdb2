import assert from 'node:assert/strict'
import type { StoredEffect } from '../../engine/effect-store.js'
import { present, same } from '../expect.js'
import {
  done,
  effect,
  effectLeaseMs,
  found,
  kind,
  namesOf,
  result,
  settled,
  taken,
  takenOne,
  unknown,
  written,
} from '../given-effects.js'
import type { Show, Stage } from '../stage.js'

/** An effect of which nobody knows whether it happened: it is looked at, and resolved by evidence alone. */
export const effectDoubts: Readonly<Record<string, Show>> = {
  'an effect whose lease is over once its call began is swept into doubt, and no other': async (stage) => {
    await written(stage, effect('a'), effect('b'), effect('c'))
    const [a, b] = await taken(stage, 2)
    assert.ok(a !== undefined && b !== undefined)
    const effects = stage.effects(stage.store)
    await effects.begin(a, effectLeaseMs)
    await stage.at(effectLeaseMs - 1)
    same(await effects.sweep(10), [])
    await stage.at(effectLeaseMs)
    const [swept, ...others] = await effects.sweep(10)
    same(others, [])
    same(swept, await found(stage, a))
    const { state, leaseUntil, doubtedAt, looks, fence } = await found(stage, a)
    same([state, leaseUntil, doubtedAt, looks, fence], ['unknown', undefined, stage.startedAt + effectLeaseMs, 0, 1])
    same(await effects.sweep(10), [])
  },

  'a sweep of effects takes at most as many as it was told': async (stage) => {
    await written(stage, effect('a'), effect('b'), effect('c'))
    const effects = stage.effects(stage.store)
    for (const claim of await taken(stage)) await effects.begin(claim, effectLeaseMs)
    await stage.at(effectLeaseMs)
    same([(await effects.sweep(2)).length, (await effects.sweep(2)).length, (await effects.sweep(2)).length], [2, 1, 0])
  },

  'a doubt about an effect comes to one node when its time has come, and is put off for the others': async (stage) => {
    const doubtful = await inDoubt(stage)
    const other = await stage.open()
    const query = { kinds: [kind], limit: 10, holdMs: 5_000 }
    await stage.at(1_999)
    same(await stage.effects(stage.store).doubts(query), [])
    await stage.at(2_000)
    same(await stage.effects(stage.store).doubts({ ...query, kinds: ['sms.send'] }), [])
    const nodes = [stage.store, other, stage.store]
    const looked = await Promise.all(nodes.map((store) => stage.effects(store).doubts(query)))
    same(namesOf(looked.flat()), ['a'])
    assert.equal((await found(stage, doubtful)).reconcileAfter, stage.startedAt + 7_000)
    await stage.at(7_000)
    same(namesOf(await stage.effects(stage.store).doubts(query)), ['a'])
  },

  'a doubt about an effect is postponed, or left to a person': async (stage) => {
    const doubtful = await inDoubt(stage)
    const effects = stage.effects(stage.store)
    assert.equal(await effects.postpone(doubtful, { looks: 1, afterMs: 3_000 }), true)
    const postponed = await found(stage, doubtful)
    same([postponed.looks, postponed.reconcileAfter], [1, stage.startedAt + 3_000])
    assert.equal(await effects.postpone(doubtful, { looks: 9, afterMs: undefined }), true)
    const left = await found(stage, doubtful)
    same([left.state, left.looks, left.reconcileAfter], ['unknown', 9, undefined])
    await stage.at(100 * effectLeaseMs)
    same(await effects.doubts({ kinds: [kind], limit: 10, holdMs: 1_000 }), [])
  },

  'a doubt that landed goes to the next worker with its result': async (stage) => {
    const doubtful = await inDoubt(stage)
    assert.equal(await stage.effects(stage.store).resolve(doubtful, { kind: 'landed', ...result }), true)
    const next = await takenOne(stage)
    same({ providerId: next.providerId, result: next.result, doubtedAt: next.doubtedAt }, result)
  },

  'a doubt that did not land is ready to be called, with the same downstream key': async (stage) => {
    const { id, fence, downstreamKey } = await inDoubt(stage)
    await stage.at(100)
    assert.equal(await stage.effects(stage.store).resolve({ id, fence }, { kind: 'not_landed' }), true)
    const next = await takenOne(stage)
    same([next.id, next.downstreamKey, next.result, next.fence], [id, downstreamKey, undefined, 2])
  },

  'a doubt that did not land has not shown its key: when it was first claimed is counted anew': async (stage) => {
    const doubtful = await inDoubt(stage)
    await stage.effects(stage.store).resolve(doubtful, { kind: 'not_landed' })
    same((await found(stage, doubtful)).firstStartedAt, undefined)
  },

  'a result that was recorded outweighs who says later that it did not land, and when it began stays': async (
    stage,
  ) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const effects = stage.effects(stage.store)
    await effects.begin(claim, effectLeaseMs)
    await stage.at(effectLeaseMs)
    await effects.sweep(10)
    await effects.record(claim, result)
    assert.equal(await effects.resolve(claim, { kind: 'not_landed' }), true)
    const left = await found(stage, claim)
    same({ providerId: left.providerId, result: left.result }, result)
    same([left.state, left.firstStartedAt], ['ready', claim.firstStartedAt])
  },

  'a doubt about an effect that was left to a person is due again once somebody testifies about it': async (stage) => {
    const { calls } = stage.store
    if (calls === undefined) return
    await written(stage, effect('a'))
    const { id, fence } = await takenOne(stage)
    await settled(stage, { id, fence }, unknown)
    await stage.effects(stage.store).postpone({ id, fence }, { looks: 4, afterMs: undefined })
    await calls.testify({ downstreamKey: 'down-a', says: 'landed', by: 'operator:ann', why: 'it is on the bill' })
    const { looks, reconcileAfter } = await found(stage, { id })
    same([looks, reconcileAfter], [4, stage.startedAt])
  },

  'who looked at a doubt about an effect does not put off what was said about it since': async (stage) => {
    const effects = stage.effects(stage.store)
    const looked = await inDoubt(stage)
    await stage.at(60_000)
    const [taken] = await effects.doubts({ kinds: [looked.kind], limit: 1, holdMs: 5_000 })
    const dueAt = present(taken).reconcileAfter
    assert.equal(await effects.postpone(looked, { looks: 0, afterMs: 0 }), true)
    assert.equal(await effects.postpone(looked, { looks: 1, afterMs: undefined, dueAt }), false)
    const { looks, reconcileAfter } = await found(stage, looked)
    same([looks, typeof reconcileAfter], [0, 'number'])
    assert.equal(await effects.postpone(looked, { looks: 1, afterMs: undefined, dueAt: reconcileAfter }), true)
    same((await found(stage, looked)).reconcileAfter, undefined)
  },

  'only a doubt is resolved or postponed': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const effects = stage.effects(stage.store)
    for (const id of [claim.id, claim.id + 1_000]) {
      const seen = { id, fence: claim.fence }
      assert.equal(await effects.resolve(seen, { kind: 'landed', ...result }), false)
      assert.equal(await effects.postpone(seen, { looks: 1, afterMs: 0 }), false)
    }
    same(await found(stage, claim), claim)
  },

  'what was found out about one attempt neither resolves nor postpones the doubt about a later one': async (stage) => {
    const seen = await inDoubt(stage)
    const effects = stage.effects(stage.store)
    await effects.resolve(seen, { kind: 'not_landed' })
    const again = await takenOne(stage)
    await settled(stage, again, unknown)
    const before = await found(stage, again)
    assert.equal(await effects.resolve(seen, { kind: 'not_landed' }), false)
    assert.equal(await effects.postpone(seen, { looks: 9, afterMs: undefined }), false)
    same(await found(stage, again), before)
  },

  'the last claim may still say that a doubt is done, which nobody has resolved: it was only slow': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const effects = stage.effects(stage.store)
    await effects.begin(claim, effectLeaseMs)
    await stage.at(effectLeaseMs)
    await effects.sweep(10)
    assert.equal(await effects.record(claim, result), true)
    await settled(stage, claim, done)
    const { state, doubtedAt, reconcileAfter } = await found(stage, claim)
    same([state, doubtedAt, reconcileAfter], ['done', undefined, undefined])
  },

  'after a doubt was resolved its last claim can change nothing': async (stage) => {
    const claim = await inDoubt(stage)
    const effects = stage.effects(stage.store)
    await effects.resolve(claim, { kind: 'not_landed' })
    const before = await found(stage, claim)
    assert.equal(await effects.record(claim, result), false)
    same(await effects.settle([{ claim, outcome: done }]), [false])
    same(await found(stage, claim), before)
  },
}

async function inDoubt(stage: Stage): Promise<StoredEffect> {
  await written(stage, effect('a'))
  const claim = await takenOne(stage)
  await stage.effects(stage.store).begin(claim, effectLeaseMs)
  await settled(stage, claim, unknown)
  return claim
}
