import assert from 'node:assert/strict'
import { present, same, verdictOf } from '../expect.js'
import { checkpoint, claimed, completed, failed, fingerprint, reservation, retentionMs } from '../given.js'
import type { Show } from '../stage.js'

/** Giving a key back, because nothing ran: it is then as it was found. */
export const releasing: Readonly<Record<string, Show>> = {
  'a released key is as if it had never been used': async ({ store }) => {
    const claim = await claimed(store)
    assert.equal(await store.release(claim), true)
    assert.equal(await store.find(claim), undefined)
    const { record } = verdictOf(
      await store.reserve(reservation({ fingerprints: [fingerprint('corrected')] })),
      'reserved',
    )
    assert.equal(record.generation, 1)
    assert.equal(record.attempt, 1)
  },

  'a key that is released after a failed attempt stays failed, with its fingerprint and its fence': async ({
    store,
  }) => {
    await failed(store)
    const { claim } = verdictOf(await store.reserve(reservation()), 'resumed')
    assert.equal(await store.release(claim), true)
    const record = present(await store.find(claim))
    assert.equal(record.state, 'failed_retryable')
    assert.equal(record.fence, claim.fence)
    const other = await store.reserve(reservation({ fingerprints: [fingerprint('other')] }))
    assert.equal(other.kind, 'mismatched')
    assert.ok(verdictOf(await store.reserve(reservation()), 'resumed').claim.fence > claim.fence)
  },

  'a key that is released after it had expired keeps its generation': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    const claim = await claimed(store)
    assert.equal(await store.release(claim), true)
    assert.equal(present(await store.find(claim)).state, 'expired')
    assert.equal((await claimed(store)).generation, claim.generation + 1)
  },

  'a repeated release finds nothing left to release': async ({ store }) => {
    const claim = await claimed(store)
    assert.equal(await store.release(claim), true)
    assert.equal(await store.release(claim), false)
  },

  'a claim that has committed a phase cannot be released': async ({ store }) => {
    const claim = await claimed(store)
    assert.ok(await store.checkpoint(claim, checkpoint))
    const before = await store.find(claim)
    assert.equal(await store.release(claim), false)
    same(await store.find(claim), before)
  },
}
