import assert from 'node:assert/strict'
import type { Reservation, Verdict } from '../../engine/verdict.js'
import { conditions } from '../conditions.js'
import { present, same, verdictOf } from '../expect.js'
import { anotherRequest, completed, doubted, fingerprint, leaseMs, reason, reservation, retentionMs } from '../given.js'
import type { Show, Stage } from '../stage.js'

/** Requests that are turned away: by what, and that nobody's record changes for it. */
export const refusals: Readonly<Record<string, Show>> = {
  ...underEveryCondition(
    (condition) => `another request under a key that is ${condition} is a mismatch, and changes nothing`,
    {
      asked: anotherRequest,
      verdict: { kind: 'mismatched' },
    },
  ),

  ...underEveryCondition(
    (condition) =>
      `a request of another recipe cannot be compared with a key that is ${condition}, and changes nothing`,
    {
      asked: { fingerprints: [fingerprint('this request', 'sha256-v2')] },
      verdict: { kind: 'incomparable', recipe: 'sha256-v1', operation: reservation().operation },
    },
  ),

  'another request is a mismatch when only one of its fingerprints is of the recipe of the record': async ({
    store,
  }) => {
    await completed(store)
    const fingerprints = [fingerprint('another request', 'sha256-v2'), fingerprint('another request')] as const
    same(await store.reserve(reservation({ fingerprints })), { kind: 'mismatched' })
  },

  'another request under the claim id of the holder is still a mismatch': async ({ store }) => {
    const asked = reservation()
    await store.reserve(asked)
    same(await store.reserve({ ...asked, ...anotherRequest }), { kind: 'mismatched' })
  },

  'a duplicate is told how much of the lease is left, and changes nothing': async ({ store, at }) => {
    await store.reserve(reservation())
    await at(leaseMs - 1)
    await unchanged(store, async () => {
      same(await store.reserve(reservation({ leaseMs: 5 })), { kind: 'in_progress', leaseLeftMs: 1 })
    })
  },

  'a replay changes nothing': async ({ store, at, startedAt }) => {
    const claim = await completed(store)
    await at(retentionMs - 1)
    await unchanged(store, async () => {
      const { answer, record } = verdictOf(await store.reserve(reservation()), 'completed')
      same(record, await store.find(claim))
      same(answer, record.answer)
      assert.equal(record.expiresAt, startedAt + retentionMs)
    })
  },

  'a retry of an unknown outcome is told when it will be looked at, and changes nothing': async ({ store, at }) => {
    await doubted(store)
    await unchanged(store, async () => {
      same(await store.reserve(reservation()), { kind: 'unknown', reconcileInMs: reason.reconcileAfterMs })
      await at(1_000)
      same(await store.reserve(reservation()), { kind: 'unknown', reconcileInMs: reason.reconcileAfterMs - 1_000 })
      await at(10 * retentionMs)
      same(await store.reserve(reservation()), { kind: 'unknown', reconcileInMs: 0 })
    })
  },

  'an expired key that may not run anew says so, and changes nothing': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    await unchanged(store, async () => {
      same(await store.reserve(reservation({ onExpired: 'refuse' })), { kind: 'expired', generation: 1 })
      same(await store.reserve(reservation({ onExpired: 'refuse', ...anotherRequest })), {
        kind: 'expired',
        generation: 1,
      })
    })
  },

  'a tombstone that may not run anew says so, and changes nothing': async ({ store, at }) => {
    await completed(store)
    await at(retentionMs)
    await store.reap(10)
    await unchanged(store, async () => {
      same(await store.reserve(reservation({ onExpired: 'refuse' })), { kind: 'expired', generation: 1 })
    })
  },
}

/** One case for each condition: this request gets this verdict, and the record stays as it was. */
function underEveryCondition(
  promise: (condition: string) => string,
  { asked, verdict }: { readonly asked: Partial<Reservation>; readonly verdict: Verdict },
): Readonly<Record<string, Show>> {
  const shows = Object.entries(conditions).map(([condition, reach]): [string, Show] => [
    promise(condition),
    async (stage) => {
      await reach(stage)
      await unchanged(stage.store, async () => same(await stage.store.reserve(reservation(asked)), verdict))
    },
  ])
  return Object.fromEntries(shows)
}

async function unchanged(store: Stage['store'], refuse: () => Promise<void>): Promise<void> {
  const before = present(await store.find(reservation()))
  await refuse()
  same(await store.find(reservation()), before)
}
