import assert from 'node:assert/strict'
import type { Claim } from '../engine/record.js'
import { present, same } from './expect.js'
import { checkpoint, completion, failure, leaseMs, reason } from './given.js'
import type { AnyStore } from './stage.js'

/** What a holder can try, and how it is shown that he tried in vain. */

type WriteName = 'renew' | 'checkpoint' | 'complete' | 'fail' | 'doubt' | 'release'

/** Everything that a holder can do. Releasing comes last, for if it did succeed it would hide the others. */
export function writes(store: AnyStore, claim: Claim): ReadonlyArray<readonly [WriteName, () => Promise<unknown>]> {
  return [
    ['renew', () => store.renew(claim, 2 * leaseMs)],
    ['checkpoint', () => store.checkpoint(claim, { ...checkpoint, recoveryPoint: 'too_late' })],
    ['complete', async () => store.complete(claim, completion('too late'))],
    ['fail', () => store.fail(claim, failure)],
    ['doubt', () => store.doubt(claim, reason)],
    ['release', () => store.release(claim)],
  ]
}

/** Tries every write with this claim: each must be refused and leave the record as it was. */
export async function changesNothing(
  store: AnyStore,
  claim: Claim,
  options: { readonly butMayRepeat?: WriteName } = {},
): Promise<void> {
  const before = present(await store.find(claim))
  for (const [step, attempt] of writes(store, claim)) {
    const outcome = await attempt()
    if (step !== options.butMayRepeat) assert.equal(outcome, false, `${step} should have been refused`)
    same(await store.find(claim), before, `${step} should have changed nothing`)
  }
}
