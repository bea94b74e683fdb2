import type { EffectClaim, EffectResult } from '../../../engine/effect-store.js'
import { settle } from '../../../engine/effect-transitions.js'
import type { Tables } from '../tables.js'

/** Settles an effect as done. `false`, having written nothing, when the claim is stale or has settled it before. */
export function settledEffect({ records, effects }: Tables, claim: EffectClaim, result: EffectResult): boolean {
  const current = effects.find(claim.id)
  const next = settle(current, claim, { kind: 'done', ...result }, records.now())
  // That it is done already is no error on its own, but here the rows of the application would commit twice.
  if (current === undefined || next === undefined || next === current) return false
  effects.write(current, next)
  return true
}
