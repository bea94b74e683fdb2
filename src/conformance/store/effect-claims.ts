import assert from 'node:assert/strict'
import { same } from '../expect.js'
import { completion } from '../given.js'
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
  written,
  writtenBy,
} from '../given-effects.js'
import type { Show, Stage } from '../stage.js'

/** Workers on every node take effects from one outbox, and each effect has one holder at a time. */
export const effectClaims: Readonly<Record<string, Show>> = {
  'an effect comes to its worker as it was written': async (stage) => {
    const { startedAt } = stage
    const wanted = effect('a', { order: 'ride 7', phase: 'ride_created', sequence: 3, dueInMs: 500 })
    const { scope, generation } = await writtenBy(stage, { operation: 'rides.create' }, [wanted])
    await stage.at(600)
    const { id, recordId, ...got } = await takenOne(stage)
    const { dueInMs, ...told } = wanted
    const now = startedAt + 600
    same(got, {
      ...told,
      scope,
      operation: 'rides.create',
      generation,
      fence: 1,
      state: 'leased',
      dueAt: startedAt + dueInMs,
      leaseUntil: now + effectLeaseMs,
      onLeaseOver: 'resume',
      started: 1,
      finished: 0,
      firstStartedAt: now,
      looks: 0,
      createdAt: startedAt,
    })
    same(await stage.effects(stage.store).findByKey('down-a'), await found(stage, { id }))
    assert.ok(recordId > 0)
  },

  'workers that claim at once never get the same effect, and leave none': async (stage) => {
    const other = await stage.open()
    await writtenBy(
      stage,
      {},
      Array.from({ length: 20 }, (_, index) => effect(`${index}`, { sequence: index + 1 })),
    )
    const claims = await Promise.all([0, 1, 2, 3].map((n) => taken(stage, 4, n % 2 === 0 ? stage.store : other)))
    const ids = [...claims.flat(), ...(await taken(stage))].map(({ id }) => id)
    assert.equal(ids.length, 20)
    assert.equal(new Set(ids).size, 20)
  },

  'a claim takes as many as it was told, those first that were due first': async (stage) => {
    await written(stage, effect('late', { dueInMs: 300 }), effect('later', { dueInMs: 400 }), effect('first'))
    await stage.at(400)
    same(namesOf(await taken(stage, 2)), ['first', 'late'])
    same(namesOf(await taken(stage, 2)), ['later'])
    same(await taken(stage), [])
  },

  'an effect is claimed when it is due, and not before': async (stage) => {
    await written(stage, effect('a', { dueInMs: 1_000 }))
    await stage.at(999)
    same(await taken(stage), [])
    await stage.at(1_000)
    same(namesOf(await taken(stage)), ['a'])
  },

  'a worker gets the kinds that it asked for and no others': async (stage) => {
    await written(stage, effect('a', { kind: 'sms.send' }), effect('b'), effect('c', { kind: 'mail.send' }))
    const effects = stage.effects(stage.store)
    same(await effects.claim({ kinds: [], limit: 10, leaseMs: effectLeaseMs }), [])
    const got = await effects.claim({ kinds: ['mail.send', kind], limit: 10, leaseMs: effectLeaseMs })
    same(namesOf(got), ['b', 'c'])
  },

  'an effect whose lease is over before its call began is claimed again, under the next fence': async (stage) => {
    await written(stage, effect('a'))
    const first = await takenOne(stage)
    await stage.at(effectLeaseMs - 1)
    same(await taken(stage), [])
    await stage.at(effectLeaseMs)
    const second = await takenOne(stage)
    same([second.id, second.fence, second.started, second.finished], [first.id, 2, 2, 0])
    assert.equal(second.firstStartedAt, first.firstStartedAt)
  },

  'a lease that is renewed lasts longer, and a stale one is not renewed': async (stage) => {
    await written(stage, effect('a'), effect('b'))
    const [a, b] = await both(stage)
    await stage.at(effectLeaseMs - 1)
    const effects = stage.effects(stage.store)
    same(await effects.renew([b, { ...a, fence: a.fence + 1 }, { ...a, id: a.id + 1_000 }], effectLeaseMs), [
      true,
      false,
      false,
    ])
    await stage.at(effectLeaseMs)
    same(namesOf(await taken(stage)), ['a'])
    assert.equal((await found(stage, b)).leaseUntil, stage.startedAt + 2 * effectLeaseMs - 1)
  },

  'whoever lost the lease of an effect can change nothing of it': async (stage) => {
    await written(stage, effect('a'))
    const stale = await takenOne(stage)
    await stage.at(effectLeaseMs)
    const before = await takenOne(stage)
    const effects = stage.effects(stage.store)
    assert.equal(await effects.begin(stale, effectLeaseMs), false)
    assert.equal(await effects.record(stale, result), false)
    same(await effects.renew([stale], effectLeaseMs), [false])
    for (const kind of ['release', 'done'] as const)
      same(await effects.settle([{ claim: stale, outcome: kind === 'done' ? done : { kind } }]), [false])
    same(await found(stage, before), before)
  },

  'a call that began renews the lease, and from there on the effect is not claimed again': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    await stage.at(100)
    assert.equal(await stage.effects(stage.store).begin(claim, effectLeaseMs), true)
    const { leaseUntil, onLeaseOver } = await found(stage, claim)
    same([leaseUntil, onLeaseOver], [stage.startedAt + 100 + effectLeaseMs, 'doubt'])
    await stage.at(10 * effectLeaseMs)
    same(await taken(stage), [])
  },

  'what the provider said is kept, and the effect comes to the next worker with it': async (stage) => {
    await written(stage, effect('a'))
    const claim = await takenOne(stage)
    const effects = stage.effects(stage.store)
    await effects.begin(claim, effectLeaseMs)
    assert.equal(await effects.record(claim, result), true)
    assert.equal(await effects.record(claim, result), true)
    same((await found(stage, claim)).state, 'leased')
    await stage.at(effectLeaseMs)
    same(await effects.sweep(10), [])
    const next = await takenOne(stage)
    same({ providerId: next.providerId, result: next.result }, result)
  },

  'effects are deleted once they have been final for long enough, and not while they are open': async (stage) => {
    await written(stage, effect('a'), effect('b'), effect('c'))
    const [a, b] = await both(stage)
    await settled(stage, a, done)
    await stage.at(100)
    await settled(stage, b, done)
    const effects = stage.effects(stage.store)
    await stage.at(1_000)
    assert.equal(await effects.reap(10, 1_000), 1)
    assert.equal(await effects.find(a.id), undefined)
    assert.equal(await effects.findByKey(a.downstreamKey), undefined)
    await stage.at(5_000)
    assert.equal(await effects.reap(10, 1_000), 1)
    assert.equal(await effects.reap(10, 0), 0)
    same(namesOf((await effects.list({ limit: 10 })).effects), ['c'])
  },

  'a record does not expire while one of its effects is open, and is buried when all are final': async (stage) => {
    const { store } = stage
    const claim = await writtenBy(stage, { retentionMs: 1_000 }, [effect('a'), effect('b', { sequence: 2 })])
    const [a, b] = await both(stage)
    await settled(stage, a, done)
    await stage.at(5_000)
    same(await store.reap(10), { buried: 0, deleted: 0 })
    same((await store.find(claim))?.answer, completion().answer)
    await settled(stage, b, done)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    same((await store.find(claim))?.state, 'expired')
    assert.equal((await stage.effects(store).list({ limit: 10 })).effects.length, 2)
  },
}

async function both(stage: Stage) {
  const [a, b] = await taken(stage, 2)
  assert.ok(a !== undefined && b !== undefined, 'there should be two effects to claim')
  return [a, b] as const
}
