import assert from 'node:assert/strict'
import { limits } from '../../kernel/limits.js'
import { present, same } from '../expect.js'
import { claimed, completed, halfDone, keys, leaseMs, retentionMs, tombstoneMs } from '../given.js'
import type { Show } from '../stage.js'

/** What a limit may say, and how far it reaches. */
export const bounds: Readonly<Record<string, Show>> = {
  'a list refuses a limit that is no whole number from 1': async ({ store }) => {
    await claimed(store)
    for (const limit of noLimits) await assert.rejects(store.list({ limit }), `list took ${limit} for a limit`)
  },

  'a sweep refuses a limit that is no whole number from 1, and sweeps nothing': async ({ store, at }) => {
    const claim = await claimed(store)
    await at(leaseMs)
    for (const limit of noLimits) await assert.rejects(store.sweep(limit), `sweep took ${limit} for a limit`)
    assert.equal(present(await store.find(claim)).state, 'in_progress')
  },

  'a reaping refuses a limit that is no whole number from 1, and reaps nothing': async ({ store, at }) => {
    const claim = await completed(store)
    await at(retentionMs)
    for (const limit of noLimits) await assert.rejects(store.reap(limit), `reap took ${limit} for a limit`)
    assert.equal(present(await store.find(claim)).state, 'completed')
  },

  'to abandon refuses a limit that is no whole number from 1, and abandons nothing': async ({ store, at }) => {
    const claim = await halfDone(store)
    await at(retentionMs)
    for (const limit of noLimits)
      await assert.rejects(store.abandon({ operations: [], limit }), `abandon took ${limit} for a limit`)
    assert.equal(present(await store.find(claim)).state, 'failed_retryable')
  },

  'a page is never longer than the longest, whatever limit is asked for': async ({ store }) => {
    await Promise.all(keys(limits.page + 1).map((key) => claimed(store, { key })))
    const { records, next } = await store.list({ limit: 2 * limits.page })
    assert.equal(records.length, limits.page)
    assert.ok(next !== undefined, 'the rest is on the next page')
    const rest = await store.list({ limit: 2 * limits.page, after: next })
    same([rest.records.length, rest.next], [1, undefined])
  },

  'a sweep never takes more than a batch, whatever limit it is told': async ({ store, at }) => {
    await Promise.all(keys(limits.batch + 1).map((key) => claimed(store, { key })))
    await at(leaseMs)
    const swept = [await store.sweep(2 * limits.batch), await store.sweep(2 * limits.batch)]
    same(
      swept.map(({ length }) => length),
      [limits.batch, 1],
    )
  },

  'to abandon never takes more than a batch, whatever limit it is told': async ({ store, at }) => {
    await Promise.all(keys(limits.batch + 1).map((key) => claimed(store, { key, onLeaseOver: 'resume' })))
    await at(retentionMs)
    const all = { operations: [], limit: 2 * limits.batch }
    same([(await store.abandon(all)).length, (await store.abandon(all)).length], [limits.batch, 1])
  },

  'a reaping never takes more than a batch, whatever limit it is told': async ({ store, at }) => {
    await Promise.all(keys(limits.batch + 1).map((key) => completed(store, { key })))
    const reapTwice = async () => [await store.reap(2 * limits.batch), await store.reap(2 * limits.batch)]
    await at(retentionMs)
    same(
      (await reapTwice()).map(({ buried }) => buried),
      [limits.batch, 1],
    )
    await at(retentionMs + tombstoneMs)
    same(
      (await reapTwice()).map(({ deleted }) => deleted),
      [limits.batch, 1],
    )
  },
}

/** To some databases, or to a careless comparison, each of these means "all". */
const noLimits = [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]
