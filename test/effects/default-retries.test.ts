import { expect, test } from 'vitest'
import { afterFailure } from '../../src/effects/deciding.js'
import { effects } from '../../src/effects/effects.js'
import type { StoredEffect } from '../../src/engine/effect-store.js'
import { effectBounds } from '../../src/kernel/limits.js'

const hour = 3_600_000
const day = 24 * hour

test.each([0.5, 0.999])('by default an outage is waited out for three days, with chance at %d', (fraction) => {
  const kind = effects({ 'receipt.send': { call: () => undefined } }).kinds.get('receipt.send')
  if (kind === undefined) throw new Error('it is defined')
  const chance = { fraction: () => fraction, id: () => 'chance' }
  let ms = 0
  let finished = 0
  for (; finished < 1_000; finished++) {
    const age = { sinceCreatedMs: ms, sinceFirstStartedMs: ms, isClaimedBefore: true }
    const failed = { of: 'not_sent', errorCode: 'ECONNREFUSED' } as const
    const next = afterFailure({ finished } as StoredEffect, kind, failed, age, chance)
    if (next.kind !== 'retry') break
    ms += next.dueInMs
  }
  expect(ms).toBeGreaterThan(3 * day - hour)
  expect(ms).toBeLessThanOrEqual(3 * day)
  // It slows down, so that an outage of many effects is no storm.
  expect(finished).toBeLessThan(effectBounds.attempts)
})
