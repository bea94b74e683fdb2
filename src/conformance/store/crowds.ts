import assert from 'node:assert/strict'
import type { Claim } from '../../engine/record.js'
import type { Verdict } from '../../engine/verdict.js'
import { present, same, tally } from '../expect.js'
import {
  claimed,
  completed,
  completion,
  failed,
  failure,
  keys,
  leaseMs,
  reason,
  reservation,
  retentionMs,
} from '../given.js'
import type { AnyStore, Show } from '../stage.js'

/** Many at once: on one key exactly one wins, and on many keys nobody disturbs anybody. */
export const crowds: Readonly<Record<string, Show>> = {
  'of fifty racers on one node exactly one starts': async ({ store }) => {
    const verdicts = await race([store])
    same(tally(verdicts), { reserved: 1, in_progress: 49 })
    await holdsWhatTheWinnerGot(store, verdicts)
  },

  'of fifty racers on two nodes exactly one starts': async ({ store, open }) => {
    const verdicts = await race([store, await open()])
    same(tally(verdicts), { reserved: 1, in_progress: 49 })
    await holdsWhatTheWinnerGot(store, verdicts)
  },

  'of fifty racers for what failed exactly one resumes': async ({ store, open }) => {
    await failed(store)
    const verdicts = await race([store, await open()])
    same(tally(verdicts), { resumed: 1, in_progress: 49 })
    await holdsWhatTheWinnerGot(store, verdicts)
  },

  'of fifty racers for a run-out lease exactly one resumes': async ({ store, open, at }) => {
    await claimed(store, { onLeaseOver: 'resume' })
    await at(leaseMs)
    const verdicts = await race([store, await open()])
    same(tally(verdicts), { resumed: 1, in_progress: 49 })
    await holdsWhatTheWinnerGot(store, verdicts)
  },

  'of fifty racers for an expired key exactly one starts': async ({ store, open, at }) => {
    await completed(store)
    await at(retentionMs)
    const verdicts = await race([store, await open()])
    same(tally(verdicts), { reserved: 1, in_progress: 49 })
    await holdsWhatTheWinnerGot(store, verdicts)
    assert.equal(present(await store.find(reservation())).generation, 2)
  },

  'of fifty racers that read a completed key all replay': async ({ store, open }) => {
    await completed(store)
    same(tally(await race([store, await open()])), { completed: 50 })
  },

  'racers on many keys at once do not disturb each other, with duplicates among them': async ({ store, open }) => {
    const other = await open()
    const crowd = keys(40)
    const verdicts = await Promise.all(
      crowd.flatMap((key) => [store, other, store].map((node) => node.reserve(reservation({ key })))),
    )
    for (const [index] of crowd.entries()) {
      same(tally(verdicts.slice(3 * index, 3 * index + 3)), { reserved: 1, in_progress: 2 })
    }
    same(
      new Set(verdicts.flatMap((verdict) => (verdict.kind === 'reserved' ? [verdict.claim.key] : []))).size,
      crowd.length,
    )
  },

  'writes of many claims at once each reach their own record': async ({ store }) => {
    const claims = await Promise.all(keys(40).map((key) => claimed(store, { key })))
    await Promise.all(claims.map((claim, index) => write(store, claim, index)))
    for (const [index, claim] of claims.entries()) {
      const record = await store.find(claim)
      assert.equal(record?.state, ['completed', 'failed_retryable', 'unknown', undefined][index % 4])
      if (record?.state === 'completed') same(record.answer, completion(`${index}`).answer)
    }
  },

  'of a completion and a failure of one claim at once exactly one counts': async ({ store, open }) => {
    const other = await open()
    for (const key of keys(10)) {
      const claim = await claimed(store, { key })
      const [completing, failing] = await Promise.all([other.complete(claim, completion()), store.fail(claim, failure)])
      assert.notEqual(completing !== false, failing)
      assert.equal(present(await store.find(claim)).state, failing ? 'failed_retryable' : 'completed')
    }
  },
}

function race(nodes: readonly AnyStore[]): Promise<readonly Verdict[]> {
  const racers = Array.from({ length: 50 / nodes.length }, () => nodes).flat()
  return Promise.all(racers.map((node) => node.reserve(reservation())))
}

async function holdsWhatTheWinnerGot(store: AnyStore, verdicts: readonly Verdict[]): Promise<void> {
  const [claim] = verdicts.flatMap((verdict) => ('claim' in verdict ? [verdict.claim] : []))
  const { scope, key, generation, fence, claimId } = present(await store.find(reservation()))
  same({ scope, key, generation, fence, claimId }, claim)
}

async function write(store: AnyStore, claim: Claim, index: number): Promise<void> {
  const writes = [
    () => store.complete(claim, completion(`${index}`)),
    () => store.fail(claim, failure),
    () => store.doubt(claim, reason),
    () => store.release(claim),
  ]
  assert.notEqual(await writes[index % 4]?.(), false)
}
