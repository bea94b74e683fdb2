import assert from 'node:assert/strict'
import type { Testimony } from '../../engine/inbox-store.js'
import { keyOf } from '../../engine/key.js'
import type { Claim } from '../../engine/record.js'
import { present, same } from '../expect.js'
import { checkpoint, claimed, completed, completion, keys, retentionMs, tombstoneMs } from '../given.js'
import { dead, done, effect, namesOf, settled, takenOne, writtenBy } from '../given-effects.js'
import type { Show, Stage } from '../stage.js'

/** What hangs on a record goes with it, so that a key which is used anew meets nothing of its first time. */
export const forgetting: Readonly<Record<string, Show>> = {
  'with a tombstone go its calls and what was said about them, and not before': async (stage) => {
    await called(stage)
    await testified(stage, 'down-1')
    await buried(stage)
    await stage.at(retentionMs + tombstoneMs - 1)
    await stage.store.reap(10)
    assert.equal((await stage.calls(stage.store).find('down-1'))?.call.state, 'landed')
    assert.equal(await saidAbout(stage, 'down-1'), 1)
    await deleted(stage)
    assert.equal(await stage.calls(stage.store).find('down-1'), undefined)
    assert.equal(await saidAbout(stage, 'down-1'), 0)
  },

  'with a tombstone go the calls of all its generations': async (stage) => {
    await called(stage)
    await stage.at(retentionMs)
    await called(stage, keyOf('a'), 'down-2')
    await stage.at(2 * retentionMs)
    same(await stage.store.reap(10), { buried: 1, deleted: 0 })
    await stage.at(2 * retentionMs + tombstoneMs)
    same(await stage.store.reap(10), { buried: 0, deleted: 1 })
    same(await stage.calls(stage.store).named(['down-1', 'down-2']), [])
  },

  'what hangs on other records stays': async (stage) => {
    await called(stage)
    await buried(stage)
    await stage.at(retentionMs + 1)
    await called(stage, keyOf('b'), 'down-2')
    await testified(stage, 'down-2')
    await stage.at(retentionMs + tombstoneMs)
    same(await stage.store.reap(10), { buried: 1, deleted: 1 })
    assert.equal((await stage.calls(stage.store).find('down-2'))?.call.state, 'landed')
    assert.equal(await saidAbout(stage, 'down-2'), 1)
  },

  'a key that is used anew begins its calls anew, and hears nothing of what was said about them': async (stage) => {
    await called(stage)
    await testified(stage, 'down-1')
    await buried(stage)
    await deleted(stage)
    const claim = await claimed(stage.store, { key: keyOf('a') })
    assert.equal(claim.generation, 1)
    await stage.store.checkpoint(claim, { ...checkpoint, call: begun('down-1') })
    const { call, record } = present(await stage.calls(stage.store).find('down-1'))
    same([call.state, call.begunAt, record?.id], ['begun', record?.createdAt, present(record).id])
    assert.equal(await saidAbout(stage, 'down-1'), 0)
  },

  'a reservation that is given back takes its calls with it': async (stage) => {
    const claim = await claimed(stage.store)
    const started = { ...checkpoint, recoveryPoint: 'started' }
    await stage.store.checkpoint(claim, { ...started, call: begun('down-1') })
    await stage.store.checkpoint(claim, { ...started, call: { kind: 'not_landed', key: 'down-1' } })
    assert.equal(await stage.store.release(claim), true)
    assert.equal(await stage.calls(stage.store).find('down-1'), undefined)
  },

  'what was said about nothing that is here goes when its time is over, and not before': async (stage) => {
    const { store } = stage
    await testified(stage, 'whose-1')
    await stage.at(500)
    await testified(stage, 'whose-2')
    await stage.at(999)
    same(await stage.calls(store).reap(10, 1_000), { deleted: 0, passed: 0 })
    await stage.at(1_000)
    same(await stage.calls(store).reap(10, 1_000), { deleted: 1, passed: 0 })
    same([await saidAbout(stage, 'whose-1'), await saidAbout(stage, 'whose-2')], [0, 1])
  },

  'what was said about a call that is here stays, however old, and is looked at once': async (stage) => {
    await called(stage)
    await testified(stage, 'down-1')
    await stage.at(1_000)
    same(await stage.calls(stage.store).reap(10, 1_000), { deleted: 0, passed: 1 })
    same(await stage.calls(stage.store).reap(10, 1_000), { deleted: 0, passed: 0 })
    assert.equal(await saidAbout(stage, 'down-1'), 1)
    await buried(stage)
    await deleted(stage)
    assert.equal(await saidAbout(stage, 'down-1'), 0)
  },

  'of what was said at most as many are looked at as it was told': async (stage) => {
    for (const key of keys(5)) await testified(stage, key)
    await stage.at(1_000)
    const reaped = [2, 2, 2, 2].map(() => () => stage.calls(stage.store).reap(2, 1_000))
    const counts: number[] = []
    for (const reap of reaped) counts.push((await reap()).deleted)
    same(counts, [2, 2, 1, 0])
  },

  'an attempt whose policy keeps its record for longer is kept for as long as that says': async ({ store, at }) => {
    const first = await claimed(store, { onLeaseOver: 'resume' })
    assert.ok(await store.fail(first, { errorCode: 'handler_threw' }))
    const longer = { retentionMs: 2 * retentionMs, tombstoneMs: 2 * tombstoneMs }
    const second = await claimed(store, longer)
    assert.ok(await store.fail(second, { errorCode: 'handler_threw' }))
    const third = await completed(store)
    const { expiresAt, completedAt, tombstoneMs: stands } = present(await store.find(third))
    same([expiresAt, stands], [present(completedAt) + longer.retentionMs, longer.tombstoneMs])
    await at(longer.retentionMs)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    await at(longer.retentionMs + longer.tombstoneMs - 1)
    same(await store.reap(10), { buried: 0, deleted: 0 })
  },
}

/** The same of the outbox. */
export const forgettingEffects: Readonly<Record<string, Show>> = {
  'with a tombstone go its effects and what was said about them, and the key may write the same ones anew': async (
    stage,
  ) => {
    const wanted = [effect('a'), effect('b', { sequence: 2, kind: 'mail.send' })]
    await writtenBy(stage, { key: keyOf('a') }, wanted)
    for (const kind of ['receipt.send', 'mail.send']) await ended(stage, kind)
    await testified(stage, 'down-a')
    await buried(stage)
    await deleted(stage)
    same(await stage.effects(stage.store).named(['down-a', 'down-b']), [])
    assert.equal(await saidAbout(stage, 'down-a'), 0)
    await writtenBy(stage, { key: keyOf('a') }, wanted)
    same(
      (await stage.effects(stage.store).list({ limit: 10 })).effects.map(({ state }) => state),
      ['ready', 'ready'],
    )
  },

  'a record is neither buried nor deleted before its effects are final, however late': async (stage) => {
    const claim = await writtenBy(stage, { key: keyOf('a') }, [effect('a')])
    await settled(stage, await takenOne(stage), dead)
    await stage.at(10 * (retentionMs + tombstoneMs))
    same(await stage.store.reap(10), { buried: 0, deleted: 0 })
    assert.equal(present(await stage.store.find(claim)).state, 'completed')
  },

  'a tombstone stands its whole time from when its last effect was final, which may be late': async (stage) => {
    const claim = await writtenBy(stage, { key: keyOf('a') }, [effect('a')])
    const late = 10 * (retentionMs + tombstoneMs)
    await stage.at(late)
    await settled(stage, await takenOne(stage), done)
    same(await stage.store.reap(10), { buried: 1, deleted: 0 })
    await stage.at(late + tombstoneMs - 1)
    same(await stage.store.reap(10), { buried: 0, deleted: 0 })
    assert.equal(present(await stage.store.find(claim)).state, 'expired')
    await stage.at(late + tombstoneMs)
    same(await stage.store.reap(10), { buried: 0, deleted: 1 })
  },

  'with an effect that is reaped by itself goes what was said about it, and its record stays': async (stage) => {
    const claim = await writtenBy(stage, { key: keyOf('a') }, [effect('a')])
    await settled(stage, await takenOne(stage), done)
    await testified(stage, 'down-a')
    await stage.at(1_000)
    assert.equal(await stage.effects(stage.store).reap(10, 1_000), 1)
    assert.equal(await saidAbout(stage, 'down-a'), 0)
    assert.equal(present(await stage.store.find(claim)).state, 'completed')
  },

  'what was said about an effect that is here stays, however old': async (stage) => {
    await writtenBy(stage, { key: keyOf('a') }, [effect('a')])
    await testified(stage, 'down-a')
    await stage.at(1_000)
    same(await stage.calls(stage.store).reap(10, 1_000), { deleted: 0, passed: 1 })
    assert.equal(await saidAbout(stage, 'down-a'), 1)
  },

  'those that were done are listed by when they were, from a time on, page by page': async (stage) => {
    for (const [index, name] of ['a', 'b', 'c', 'd'].entries()) {
      await stage.at(index * 1_000)
      await writtenBy(stage, { key: keyOf(name) }, [effect(name)])
      if (name !== 'c') await settled(stage, await takenOne(stage), done)
      else await settled(stage, await takenOne(stage), dead)
    }
    const effects = stage.effects(stage.store)
    const since = stage.startedAt + 1_000
    same(namesOf((await effects.done({ since: 0, limit: 10 })).effects), ['a', 'b', 'd'])
    const first = await effects.done({ since, limit: 1 })
    same(namesOf(first.effects), ['b'])
    const second = await effects.done({ since, limit: 1, after: present(first.next) })
    same([namesOf(second.effects), second.next], [['d'], undefined])
    same(namesOf(await effects.named(['down-c', 'whose', 'down-a'])).toSorted(), ['a', 'c'])
  },
}

function begun(key: string) {
  return { kind: 'begun', key, phase: 'charge_created' } as const
}

/** A record that made a call, which landed, and is completed. */
async function called(stage: Stage, key = keyOf('a'), downstreamKey = 'down-1'): Promise<Claim> {
  const claim = await claimed(stage.store, { key })
  await stage.store.checkpoint(claim, { ...checkpoint, call: begun(downstreamKey) })
  await stage.store.checkpoint(claim, { ...checkpoint, call: { kind: 'landed', key: downstreamKey } })
  assert.ok(await stage.store.complete(claim, completion()))
  return claim
}

async function testified(stage: Stage, downstreamKey: string): Promise<void> {
  const landed: Testimony = { downstreamKey, says: 'landed', by: 'webhook:airtm', why: 'evt_1' }
  await stage.calls(stage.store).testify(landed)
}

async function saidAbout(stage: Stage, downstreamKey: string): Promise<number> {
  return (await stage.calls(stage.store).testimonies([downstreamKey])).length
}

async function ended(stage: Stage, kind: string): Promise<void> {
  const [claim] = await stage.effects(stage.store).claim({ kinds: [kind], limit: 1, leaseMs: 10_000 })
  await settled(stage, present(claim), done)
}

async function buried(stage: Stage): Promise<void> {
  await stage.at(retentionMs)
  same(await stage.store.reap(10), { buried: 1, deleted: 0 })
}

async function deleted(stage: Stage): Promise<void> {
  await stage.at(retentionMs + tombstoneMs)
  same(await stage.store.reap(10), { buried: 0, deleted: 1 })
}
