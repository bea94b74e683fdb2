import assert from 'node:assert/strict'
import { keyOf } from '../../engine/key.js'
import type { Claim, StoredRecord } from '../../engine/record.js'
import { present, same, verdictOf } from '../expect.js'
import {
  anotherRequest,
  checkpoint,
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
  settlement,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** What is half-done past its retention, and what only its client goes on with, who has not come back: a person is asked. */
export const abandoning: Readonly<Record<string, Show>> = {
  'half-done work that failed is left to a person at its retention': async ({ store, at, startedAt }) => {
    const claim = await halfDone(store)
    const before = present(await store.find(claim))
    await at(retentionMs - 1)
    same(await abandoned(store), [])
    await at(retentionMs)
    const [left] = await store.abandon({ operations: [], limit: 10 })
    same(left, {
      ...before,
      claimId: '',
      state: 'unknown',
      errorCode: 'abandoned',
      doubtedAt: startedAt + retentionMs,
    })
    same(await store.find(claim), left)
    same(await abandoned(store), [])
  },

  'a claim that may run again is left to a person at its retention, once its lease is over': async ({
    store,
    at,
    startedAt,
  }) => {
    const claim = await claimed(store, { onLeaseOver: 'resume' })
    await at(retentionMs - 1)
    same(await abandoned(store), [])
    assert.ok(await store.renew(claim, 1_001))
    const before = present(await store.find(claim))
    await at(retentionMs + 999)
    same(await abandoned(store), [])
    await at(retentionMs + 1_000)
    const [left] = await store.abandon({ operations: [], limit: 10 })
    const doubtedAt = startedAt + retentionMs + 1_000
    same(left, { ...before, state: 'unknown', leaseUntil: undefined, errorCode: 'abandoned', doubtedAt })
    same(await store.find(claim), left)
  },

  'what workers go on with is left to them, and to a person where none knows its operation': async ({ store, at }) => {
    const mine = { operation: 'rides.create' }
    await claimed(store, { key: keyOf('my claim'), onLeaseOver: 'resume', ...mine })
    await claimed(store, { key: keyOf('a claim'), onLeaseOver: 'resume' })
    await dueAfter(store, 0, { key: keyOf('my failure'), ...mine })
    await dueAfter(store, 0, { key: keyOf('a failure') })
    await at(retentionMs)
    same(await abandoned(store, ['rides.create', 'others']), ['a claim', 'a failure'])
    same(await abandoned(store, ['others']), ['my claim', 'my failure'])
  },

  'a failure that goes on at a later time is left alone until then': async ({ store, at }) => {
    const claim = await dueAfter(store, retentionMs + 1_000)
    await at(retentionMs + 999)
    same(await abandoned(store), [])
    await at(retentionMs + 1_000)
    same(await abandoned(store), [claim.key])
  },

  'a failure that no worker goes on with any more is left to a person, whatever its operation': async ({
    store,
    at,
  }) => {
    const claim = await halfDone(store)
    await at(retentionMs)
    same(await abandoned(store, [reservation().operation]), [claim.key])
  },

  'nobody is asked about what is over, in doubt, kept for ever, left to the sweeper, or left nothing behind': async ({
    store,
    at,
  }) => {
    const names = [
      await completed(store, { key: keyOf('an answer') }),
      await doubted(store, { key: keyOf('a doubt') }),
      await failed(store, { key: keyOf('nothing committed') }),
      await claimed(store, { key: keyOf('for the sweeper') }),
      await claimed(store, { key: keyOf('kept for ever'), onLeaseOver: 'resume', retentionMs: undefined }),
      await halfDone(store, { key: keyOf('half-done for ever'), retentionMs: undefined }),
      await completed(store, { key: keyOf('buried'), retentionMs: 1_000 }),
    ]
    await at(1_000)
    same(await store.reap(10), { buried: 1, deleted: 0 })
    const before = await Promise.all(names.map((name) => store.find(name)))
    await at(10 * retentionMs)
    same(await abandoned(store), [])
    same(await Promise.all(names.map((name) => store.find(name))), before)
  },

  'whoever comes back in time starts the retention anew': async ({ store, at }) => {
    const first = await halfDone(store)
    await at(retentionMs - 1)
    const next = await claimed(store)
    await store.fail(next, failure)
    await at(2 * retentionMs - 2)
    same(await abandoned(store), [])
    await at(2 * retentionMs - 1)
    same(await abandoned(store), [first.key])
  },

  'of what is past its retention as many are taken as were told, the longest past it first': async ({ store, at }) => {
    for (const [index, key] of keys(5).entries()) {
      await at(index)
      if (index % 2 === 0) await halfDone(store, { key })
      else await claimed(store, { key, onLeaseOver: 'resume' })
    }
    await at(retentionMs + 10)
    const taken = [await abandoned(store, [], 2), await abandoned(store, [], 2), await abandoned(store, [], 2)]
    same(taken, [['key-0', 'key-1'], ['key-2', 'key-3'], ['key-4']])
  },

  'to abandon is not held up by what it must leave alone': async ({ store, at }) => {
    for (const key of keys(5)) await claimed(store, { key, onLeaseOver: 'resume', operation: 'rides.create' })
    await at(1)
    const last = await halfDone(store, { key: keyOf('last') })
    await at(retentionMs + 1)
    same(await abandoned(store, ['rides.create'], 1), [last.key])
  },

  'of nodes that abandon at once each record comes to one': async ({ store, open, at }) => {
    const other = await open()
    for (const key of keys(20)) await halfDone(store, { key })
    await at(retentionMs)
    const taken = await Promise.all([store, other, store, other].map((node) => abandoned(node, [], 15)))
    same([...taken.flat(), ...(await abandoned(store, [], 15))].sort(), [...keys(20)].sort())
  },

  'what was abandoned does not run again, is looked at by nobody, and never expires': async ({ store, at }) => {
    const claim = await abandonedClaim(store, at)
    await at(50 * retentionMs)
    verdictOf(await store.reserve(reservation()), 'unknown')
    verdictOf(await store.reserve(reservation(anotherRequest)), 'mismatched')
    const asked = { operations: [reservation().operation], limit: 10 }
    same([await store.interrupted(asked), await store.doubts({ ...asked, holdMs: 1 })], [[], []])
    same([await store.sweep(10), await store.reap(10)], [[], { buried: 0, deleted: 0 }])
    const { state, errorCode, reconcileAfter } = present(await store.find(claim))
    same([state, errorCode, reconcileAfter], ['unknown', 'abandoned', undefined])
  },

  'what was abandoned goes on at its recovery point once a person says so, and has its retention anew': async ({
    store,
    at,
    startedAt,
  }) => {
    const claim = await abandonedClaim(store, at)
    await at(3 * retentionMs)
    assert.ok(await store.settle(claim, settlement({ kind: 'not_landed' })))
    const settled = present(await store.find(claim))
    same([settled.state, settled.expiresAt], ['failed_retryable', startedAt + 4 * retentionMs])
    same(settled.evidence.at(-1)?.doubt, {
      errorCode: 'abandoned',
      at: startedAt + retentionMs,
      fence: claim.fence,
      looks: 0,
    })
    const { record } = verdictOf(await store.reserve(reservation()), 'resumed')
    same([record.recoveryPoint, record.fence], [checkpoint.recoveryPoint, claim.fence + 1])
    same(record.progress, checkpoint.progress)
  },

  'what nobody comes back for after it was settled is abandoned once more': async ({ store, at }) => {
    const claim = await abandonedClaim(store, at)
    assert.ok(await store.settle(claim, settlement({ kind: 'not_landed' })))
    await at(2 * retentionMs - 1)
    same(await abandoned(store), [])
    await at(2 * retentionMs)
    same(await abandoned(store), [claim.key])
  },

  'what was abandoned is answered once a person gives the answer': async ({ store, at }) => {
    const claim = await abandonedClaim(store, at)
    const given = completion('by hand')
    assert.ok(await store.settle(claim, settlement({ kind: 'completed', ...given })))
    same(verdictOf(await store.reserve(reservation()), 'completed').answer, given.answer)
  },

  'an abandoned doubt is due again once it is postponed to a time': async ({ store, at }) => {
    const claim = await abandonedClaim(store, at)
    assert.ok(await store.postpone(claim, { generation: 1, looks: 0, afterMs: 0 }))
    const due = await store.doubts({ operations: [reservation().operation], limit: 10, holdMs: 1 })
    same(namesOf(due), [claim.key])
  },

  'the last claim may complete what was abandoned under it: it was only slow': async ({ store, at }) => {
    const claim = await claimed(store, { onLeaseOver: 'resume' })
    await store.checkpoint(claim, { ...checkpoint, onLeaseOver: 'resume' })
    await at(retentionMs)
    same(await abandoned(store), [claim.key])
    assert.ok(await store.complete(claim, completion('only slow')))
    same(verdictOf(await store.reserve(reservation()), 'completed').answer, completion('only slow').answer)
  },

  'whoever said that it failed can change nothing once that was abandoned': async ({ store, at }) => {
    const claim = await abandonedClaim(store, at)
    const before = await store.find(claim)
    same(await store.complete(claim, completion('after all')), false)
    same([await store.fail(claim, failure), await store.renew(claim, leaseMs)], [false, false])
    same(await store.doubt(claim, { errorCode: 'too late', reconcileAfterMs: 0 }), false)
    same(await store.find(claim), before)
  },
}

async function abandonedClaim(store: AnyStore, at: (ms: number) => Promise<void>): Promise<Claim> {
  const claim = await halfDone(store)
  await at(retentionMs)
  same(await abandoned(store), [claim.key])
  return claim
}

/** Half-done, and gone on with by whoever knows its operation, so much later. */
async function dueAfter(
  store: AnyStore,
  resumeAfterMs: number,
  changes: Parameters<typeof claimed>[1] = {},
): Promise<Claim> {
  const claim = await claimed(store, changes)
  await store.checkpoint(claim, checkpoint)
  assert.ok(await store.fail(claim, { ...failure, resumeAfterMs }))
  return claim
}

/** In the order of their names: in which order a step gives what it took is its own affair. */
async function abandoned(store: AnyStore, operations: readonly string[] = [], limit = 100): Promise<readonly string[]> {
  return namesOf(await store.abandon({ operations, limit })).toSorted()
}

function namesOf(records: readonly StoredRecord[]): readonly string[] {
  return records.map(({ key }) => key)
}
