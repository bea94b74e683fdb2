import type { Claim, StoredRecord } from './record.js'
import type { Step } from './store.js'
import { checkpoint, complete } from './transitions.js'

/**
 * What the last write of a transaction makes of its record; `undefined` when the claim is stale or over. A completion that
 * already stands is no error on its own, but here the rows of the application would commit twice.
 */
export function lastWrite(
  current: StoredRecord | undefined,
  claim: Claim,
  write: Step<unknown>['write'],
  now: number,
): StoredRecord | undefined {
  if (write.kind === 'checkpoint') return checkpoint(current, claim, write, now)
  const next = complete(current, claim, write, now)
  return next === current ? undefined : next
}
