import type { EffectStore } from '../engine/effect-store.js'
import type { InTime } from '../engine/in-time.js'
import { defaults, effectBounds } from '../kernel/limits.js'

/** The steps of the outbox that workers take. */
export type BoundedEffects<Tx> = Pick<
  EffectStore<Tx>,
  'claim' | 'begin' | 'renew' | 'record' | 'settle' | 'apply' | 'sweep' | 'doubts' | 'postpone' | 'resolve'
>

/**
 * The same steps, each within a bound and with one name for every failure. Only `apply` is as long as its transaction may
 * be, which the store sees to.
 */
export function boundedEffects<Tx>(store: BoundedEffects<Tx>, inTime: InTime): BoundedEffects<Tx> {
  const bounded = <T>(step: string, ask: () => Promise<T>, timeoutMs: number = defaults.storeTimeoutMs) =>
    inTime(step, ask, timeoutMs)
  return {
    claim: (query) => bounded('effects.claim', () => store.claim(query), effectBounds.claimMs),
    begin: (claim, leaseMs) => bounded('effects.begin', () => store.begin(claim, leaseMs)),
    renew: (claims, leaseMs) => bounded('effects.renew', () => store.renew(claims, leaseMs)),
    record: (claim, result) => bounded('effects.record', () => store.record(claim, result)),
    settle: (settlements) => bounded('effects.settle', () => store.settle(settlements)),
    apply: (claim, result, body) => store.apply(claim, result, body),
    sweep: (limit) => bounded('effects.sweep', () => store.sweep(limit)),
    doubts: (query) => bounded('effects.doubts', () => store.doubts(query)),
    postpone: (seen, plan) => bounded('effects.postpone', () => store.postpone(seen, plan)),
    resolve: (seen, evidence) => bounded('effects.resolve', () => store.resolve(seen, evidence)),
  }
}
