import type { NewEffect } from '../../engine/effect-store.js'
import { lastWrite } from '../../engine/last-write.js'
import type { Claim } from '../../engine/record.js'
import type { Completed, Step } from '../../engine/store.js'
import type { Tables } from './tables.js'

/**
 * The write of the record that ends a transaction, and the effects that go with it. `false`, having written nothing, when
 * the claim is stale or over.
 */
export function fencedWrite(
  { records, calls, effects: outbox }: Tables,
  claim: Claim,
  write: Step<unknown>['write'],
  effects: readonly NewEffect[],
): false | Completed {
  const now = records.now()
  const current = records.find(claim)
  const next = lastWrite(current, claim, write, now)
  if (next === undefined) return false
  records.write(current, effects.length === 0 ? next : { ...next, hasEffects: true })
  outbox.insert(next, effects, now)
  if (write.kind === 'checkpoint' && write.call !== undefined) calls.mark(next, write.call, now)
  return { expiresAt: next.expiresAt }
}
