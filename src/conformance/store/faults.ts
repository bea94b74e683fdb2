import assert from 'node:assert/strict'
import type { Claim } from '../../engine/record.js'
import { present, same, verdictOf } from '../expect.js'
import { failsTyped, recovered } from '../faulty.js'
import { checkpoint, claimed, completion, failure, keys, leaseMs, reason, reservation, settlement } from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** A connection that is cut: a typed error, nothing half-written, and a store that comes back. */
export const faults: Readonly<Record<string, Show>> = {
  'every operation on a cut connection fails with a typed error, and the store comes back': async ({ store, cut }) => {
    const claim = await claimed(store)
    for (const [name, operation] of operations(store, claim)) {
      await cut(store)
      await failsTyped(operation(), name)
      await recovered(() => store.find(claim))
    }
  },

  'a cut connection leaves each record as it was or as it was to be': async ({ store, open, cut }) => {
    const other = await open()
    const claims = await Promise.all(keys(40).map((key) => claimed(store, { key })))
    const before = await Promise.all(claims.map((claim) => other.find(claim)))
    const writing = Promise.allSettled(claims.map((claim) => store.complete(claim, completion())))
    await cut(store)
    for (const [index, outcome] of (await writing).entries()) {
      const record = present(await other.find(reservation({ key: present(before[index]).key })))
      if (outcome.status === 'rejected') await failsTyped(Promise.reject(outcome.reason), 'complete')
      if (outcome.status === 'fulfilled' || record.state === 'completed') same(record.answer, completion().answer)
      else same(record, before[index])
    }
  },

  'a reservation that was cut off is the same claim when it is sent again': async ({ store, cut }) => {
    const asked = reservation()
    await cut(store)
    await failsTyped(Promise.resolve(store.reserve(asked)), 'reserve')
    const { claim } = await recovered(async () => verdictOf(await store.reserve(asked), 'reserved'))
    assert.equal(claim.fence, 1)
    same(present(await store.find(claim)).claimId, asked.claimId)
  },

  'a completion that was cut off can be repeated': async ({ store, cut }) => {
    const claim = await claimed(store)
    await cut(store)
    await failsTyped(Promise.resolve(store.complete(claim, completion())), 'complete')
    assert.ok(await recovered(async () => store.complete(claim, completion())))
    same(verdictOf(await store.reserve(reservation()), 'completed').answer, completion().answer)
  },

  'another node does not notice that a connection was cut': async ({ store, open, cut }) => {
    const other = await open()
    const claim = await claimed(store)
    await cut(store)
    verdictOf(await other.reserve(reservation()), 'in_progress')
    assert.equal(await other.renew(claim, leaseMs), true)
  },
}

function operations(store: AnyStore, claim: Claim): ReadonlyArray<readonly [string, () => Promise<unknown>]> {
  return [
    ['reserve', async () => store.reserve(reservation())],
    ['renew', () => store.renew(claim, leaseMs)],
    ['checkpoint', () => store.checkpoint(claim, checkpoint)],
    ['complete', async () => store.complete(claim, completion())],
    ['fail', () => store.fail(claim, failure)],
    ['doubt', () => store.doubt(claim, reason)],
    ['release', () => store.release(claim)],
    ['settle', () => store.settle(claim, settlement({ kind: 'not_landed' }))],
    ['sweep', () => store.sweep(10)],
    ['abandon', () => store.abandon({ operations: [], limit: 10 })],
    ['reap', () => store.reap(10)],
    ['find', () => store.find(claim)],
    ['list', () => store.list({ limit: 10 })],
  ]
}
