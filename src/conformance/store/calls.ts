import assert from 'node:assert/strict'
import { type CallMark, handedOut } from '../../engine/call-store.js'
import type { Testimony } from '../../engine/inbox-store.js'
import { keyOf } from '../../engine/key.js'
import type { Claim } from '../../engine/record.js'
import type { Checkpoint } from '../../engine/store.js'
import { present, same, verdictOf } from '../expect.js'
import {
  checkpoint,
  claimed,
  completed,
  completion,
  keys,
  leaseMs,
  reason,
  reservation,
  retentionMs,
  settlement,
} from '../given.js'
import type { Show, Stage } from '../stage.js'

/** Calls to the outside: found by the key that they carried, with all that was said. */
export const calls: Readonly<Record<string, Show>> = {
  'a call that begins with a checkpoint is found by its key, with its record': async (stage) => {
    const { store, startedAt } = stage
    const claim = await claimed(store)
    await stage.at(1_000)
    assert.equal(await store.checkpoint(claim, marking(begun())), true)
    const found = await stage.calls(await stage.open()).find('down-1')
    const { scope, generation } = claim
    same(found?.call, {
      id: found?.call.id,
      key: 'down-1',
      scope,
      operation: 'payments.create',
      generation,
      phase: 'charge_created',
      state: 'begun',
      begunAt: startedAt + 1_000,
    })
    same(found?.record, await store.find(claim))
    assert.equal(found?.record?.isBegun, true)
    assert.equal(await stage.calls(store).find('down-2'), undefined)
  },

  'a call that lands with a checkpoint is begun no more, and its record goes on': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    for (const kind of ['landed', 'not_landed'] as const) {
      await store.checkpoint(claim, marking(begun()))
      await store.checkpoint(claim, marking({ kind, key: 'down-1' }))
      assert.equal(await stateOf(stage, 'down-1'), kind)
      assert.equal(present(await store.find(claim)).isBegun, false)
    }
  },

  'a key that is handed out is found by it, and begins no call: its record may expire': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    await store.checkpoint(claim, { ...marking(handedOut('down-1')), recoveryPoint: 'started' })
    assert.equal(present(await store.find(claim)).isBegun, false)
    const found = await stage.calls(store).find('down-1')
    same([found?.call.phase, found?.call.state, found?.record?.key], ['started', 'begun', claim.key])
    await store.fail(claim, { errorCode: 'handler_failed' })
    await stage.at(retentionMs)
    verdictOf(await store.reserve(reservation()), 'reserved')
  },

  'a checkpoint that says nothing of a call leaves what is begun': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    await store.checkpoint(claim, marking(begun()))
    await store.checkpoint(claim, checkpoint)
    assert.equal(present(await store.find(claim)).isBegun, true)
    assert.equal(await stateOf(stage, 'down-1'), 'begun')
  },

  'a call that begins anew is the same call, in its place': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    for (const key of ['down-1', 'down-2']) await store.checkpoint(claim, marking(begun(key)))
    await store.checkpoint(claim, marking({ kind: 'not_landed', key: 'down-1' }))
    await store.checkpoint(claim, marking(begun('down-1')))
    const { calls: listed } = await stage.calls(store).list({ limit: 10 })
    same(
      listed.map(({ key, state }) => [key, state]),
      [
        ['down-1', 'begun'],
        ['down-2', 'begun'],
      ],
    )
  },

  'a claim that is stale marks no call': async (stage) => {
    const { store } = stage
    const stale = await claimed(store, { onLeaseOver: 'resume' })
    await stage.at(leaseMs)
    const claim = await claimed(store)
    assert.equal(await store.checkpoint(stale, marking(begun())), false)
    assert.equal(await stage.calls(store).find('down-1'), undefined)
    await store.checkpoint(claim, marking(begun()))
    assert.equal(await store.checkpoint(stale, marking({ kind: 'landed', key: 'down-1' })), false)
    assert.equal(await stateOf(stage, 'down-1'), 'begun')
  },

  'evidence marks the call that it is about, and evidence that comes too late marks nothing': async (stage) => {
    const { store } = stage
    const claim = await inDoubt(stage)
    const call = { kind: 'landed', key: 'down-1' } as const
    const landed = settlement({ kind: 'landed', recoveryPoint: 'charge_created' })
    assert.equal(await store.settle(claim, { ...landed, call }), true)
    assert.equal(await stateOf(stage, 'down-1'), 'landed')
    assert.equal(present(await store.find(claim)).isBegun, false)
    const late = { ...settlement({ kind: 'not_landed' }), call: { kind: 'not_landed', key: 'down-1' } } as const
    assert.equal(await store.settle(claim, late), false)
    assert.equal(await stateOf(stage, 'down-1'), 'landed')
  },

  'a record whose call was begun does not expire, whatever its retention': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    await store.checkpoint(claim, { ...marking(begun()), recoveryPoint: 'started' })
    await store.fail(claim, { errorCode: 'handler_threw' })
    await stage.at(10 * retentionMs)
    same(await store.reap(10), { buried: 0, deleted: 0 })
    assert.equal((await store.reserve(reservation())).kind, 'resumed')
  },

  'a failure whose call was begun is left to a person at its retention': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    await store.checkpoint(claim, { ...marking(begun()), recoveryPoint: 'started' })
    await store.fail(claim, { errorCode: 'handler_threw' })
    await stage.at(retentionMs)
    same(
      (await store.abandon({ operations: [], limit: 10 })).map(({ key }) => key),
      [claim.key],
    )
    assert.equal(present(await store.find(claim)).isBegun, true)
  },

  'calls are listed in the order in which they began, page by page, each once': async (stage) => {
    const { store } = stage
    const names = keys(7).map((key) => `down-${key}`)
    for (const [index, key] of keys(7).entries())
      await store.checkpoint(await claimed(store, { key }), marking(begun(names[index])))
    const seen: string[] = []
    let after: string | undefined
    do {
      const page = await stage.calls(store).list({ limit: 3, ...(after !== undefined && { after }) })
      assert.ok(page.calls.length <= 3)
      seen.push(...page.calls.map(({ key }) => key))
      after = page.next
    } while (after !== undefined)
    same(seen, names)
  },

  'calls are listed by when they began, from a time on and before another, also page by page': async (stage) => {
    const { store, startedAt } = stage
    for (const [index, key] of keys(6).entries()) {
      await stage.at(index * 1_000)
      await store.checkpoint(await claimed(store, { key }), marking(begun(`down-${index}`)))
    }
    const listed = async (query: { since?: number; until?: number; after?: string; limit?: number }) => {
      const page = await stage.calls(store).list({ limit: 10, ...query })
      return { keys: page.calls.map(({ key }) => key), next: page.next }
    }
    const window = { since: startedAt + 1_000, until: startedAt + 4_000 }
    same(await listed(window), { keys: ['down-1', 'down-2', 'down-3'], next: undefined })
    same((await listed({ since: startedAt + 4_000 })).keys, ['down-4', 'down-5'])
    same((await listed({ until: startedAt + 1_000 })).keys, ['down-0'])
    const first = await listed({ ...window, limit: 2 })
    same(first.keys, ['down-1', 'down-2'])
    same((await listed({ ...window, limit: 2, after: present(first.next) })).keys, ['down-3'])
  },

  'of some keys those are found that are calls of ours': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    for (const key of ['down-1', 'down-2', 'down-3']) await store.checkpoint(claim, marking(begun(key)))
    const found = await stage.calls(store).named(['down-3', 'whose', 'down-1'])
    same(found.map(({ key }) => key).sort(), ['down-1', 'down-3'])
    same(found[0], (await stage.calls(store).find(present(found[0]).key))?.call)
    same(await stage.calls(store).named([]), [])
  },

  'what somebody says is kept, whatever the state of the record, and before there is a call': async (stage) => {
    const { store } = stage
    const kept = stage.calls(store)
    await kept.testify(landed)
    const running = await claimed(store, { key: keyOf('running') })
    await store.checkpoint(running, marking(begun()))
    await kept.testify({ ...landed, why: 'while it ran' })
    await store.checkpoint(running, marking({ kind: 'landed', key: 'down-1' }))
    await store.complete(running, completion())
    await kept.testify({ ...landed, why: 'when it was over' })
    same(
      (await kept.testimonies(['down-1'])).map(({ why }) => why),
      [landed.why, 'while it ran', 'when it was over'],
    )
  },

  'what was said comes back as it was said, oldest first, for the calls that were asked for': async (stage) => {
    const { startedAt } = stage
    const kept = stage.calls(stage.store)
    const denied: Testimony = {
      downstreamKey: 'down-2',
      says: 'not_landed',
      by: 'operator:ada',
      why: 'the bank called',
    }
    await kept.testify(denied)
    await stage.at(1_000)
    await kept.testify(landed)
    await kept.testify({ ...landed, downstreamKey: 'down-3' })
    same(await stage.calls(await stage.open()).testimonies(['down-1', 'down-2', 'down-4']), [
      { ...denied, at: startedAt },
      { ...landed, at: startedAt + 1_000 },
    ])
    same(await kept.testimonies([]), [])
  },

  'what was said does not change the call, and of its record only that a doubt about it is due': async (stage) => {
    const { store } = stage
    const claim = await inDoubt(stage)
    const before = await stage.calls(store).find('down-1')
    await stage.calls(store).testify(landed)
    const due = { ...present(before?.record), reconcileAfter: stage.startedAt }
    same(await stage.calls(store).find('down-1'), { call: before?.call, record: due })
    same(await store.find(claim), due)
  },

  'a record of another generation is still found by a call of an earlier one': async (stage) => {
    const { store } = stage
    const claim = await claimed(store)
    await store.checkpoint(claim, marking(begun()))
    await store.checkpoint(claim, marking({ kind: 'landed', key: 'down-1' }))
    await store.complete(claim, completion())
    await stage.at(retentionMs)
    await completed(store)
    const found = await stage.calls(store).find('down-1')
    same([found?.call.generation, found?.record?.generation], [1, 2])
  },
}

const landed: Testimony = {
  downstreamKey: 'down-1',
  says: 'landed',
  result: Buffer.from('{"id":"ch_1"}'),
  by: 'webhook:airtm',
  why: 'evt_1',
}

function begun(key = 'down-1'): CallMark {
  return { kind: 'begun', key, phase: 'charge_created' }
}

function marking(call: CallMark): Checkpoint {
  return { ...checkpoint, call }
}

async function inDoubt({ store }: Stage): Promise<Claim> {
  const claim = await claimed(store)
  await store.checkpoint(claim, marking(begun()))
  assert.ok(await store.doubt(claim, reason))
  return claim
}

async function stateOf(stage: Stage, key: string): Promise<string | undefined> {
  return (await stage.calls(stage.store).find(key))?.call.state
}
