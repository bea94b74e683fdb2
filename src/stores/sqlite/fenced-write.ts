import type { NewEffect } from '../../engine/effect-store.js'
import type { Claim } from '../../engine/record.js'
import type { Completed, Step } from '../../engine/store.js'
import * as transitions from '../../engine/transitions.js'
import type { Tables } from './tables.js'

/**
 * The write of the record that ends a transaction, and the effects that go with it. `false`, having written nothing, when
 * the claim is stale or over.
 */
export function fencedWrite(
  { records, effects: outbox }: Tables,
  claim: Claim,
  write: Step<unknown>['write'],
  effects: readonly NewEffect[],
): false | Completed {
  const now = records.now()
  const current = records.find(claim)
  const next =
    write.kind === 'checkpoint'
      ? transitions.checkpoint(current, claim, write, now)
      : transitions.complete(current, claim, write, now)
  // A completion that already stands is no error on its own, but here the rows of the application would commit twice.
  if (next === undefined || next === current) return false
  records.write(current, effects.length === 0 ? next : { ...next, hasEffects: true })
  outbox.insert(next, effects, now)
  if (write.kind === 'checkpoint' && write.call !== undefined) records.mark(next, write.call, now)
  return { expiresAt: next.expiresAt }
}
