import assert from 'node:assert/strict'
import { same, verdictOf } from '../expect.js'
import { anotherRequest, completed, doubted, failed, reservation, retentionMs } from '../given.js'
import type { Show } from '../stage.js'

const asking = { onNew: 'tell' } as const

/** Whoever wants to be told first is told whether a key would be new, and takes nothing by it. */
export const askingFirst: Readonly<Record<string, Show>> = {
  'a key that nobody has used is told to be new, and nothing is kept': async ({ store }) => {
    same(await store.reserve(reservation(asking)), { kind: 'new' })
    same(await store.find(reservation()), undefined)
    verdictOf(await store.reserve(reservation()), 'reserved')
  },

  'a key past its retention is told to be new, and stays as it is': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    const before = await store.find(reservation())
    same(await store.reserve(reservation(asking)), { kind: 'new' })
    same(await store.find(reservation()), before)
    await store.reap(10)
    same(await store.reserve(reservation(asking)), { kind: 'new' })
    assert.equal(verdictOf(await store.reserve(reservation()), 'reserved').claim.generation, 2)
  },

  'an expired key that may not run anew is refused, and is not told to be new': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    same(await store.reserve(reservation({ ...asking, onExpired: 'refuse' })), { kind: 'expired', generation: 1 })
  },

  'a key that is known gets the verdict that it always gets': async ({ store }) => {
    await completed(store)
    verdictOf(await store.reserve(reservation(asking)), 'completed')
    same(await store.reserve(reservation({ ...asking, ...anotherRequest })), { kind: 'mismatched' })
  },

  'a key that is in progress is told to be so': async ({ store }) => {
    await store.reserve(reservation())
    verdictOf(await store.reserve(reservation(asking)), 'in_progress')
  },

  'an outcome that nobody knows stays unknown to who asks first': async ({ store }) => {
    await doubted(store)
    verdictOf(await store.reserve(reservation(asking)), 'unknown')
  },

  'a key that may be tried again is taken at once, since it is not new': async ({ store }) => {
    await failed(store)
    const { claim } = verdictOf(await store.reserve(reservation(asking)), 'resumed')
    assert.equal(claim.fence, 2)
  },
}
