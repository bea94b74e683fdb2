import type { EffectOutcome, StoredEffect } from '../engine/effect-store.js'
import { effectBounds } from '../kernel/limits.js'
import { unsettled } from './deciding.js'
import type { Held } from './held.js'

/** It was claimed more than once, and its workers never came back. */
export function isSuspect(effect: StoredEffect): boolean {
  return unsettled(effect) >= effectBounds.suspicious
}

/**
 * One of several suspects may be what ended the workers, and the others only lay beside it. So that it is found out which,
 * each is given back and claimed by itself, one after another: the next death counts against one effect only.
 */
export function oneByOne<Ending>(
  settle: (held: Held, outcome: EffectOutcome) => Promise<unknown>,
  carryOut: (id: number) => Promise<Ending>,
): (suspect: Held) => Promise<Ending> {
  let last: Promise<unknown> = Promise.resolve()
  return (suspect) => {
    const given = settle(suspect, { kind: 'release', dueInMs: effectBounds.suspectMs })
    const next = Promise.allSettled([given, last]).then(() => carryOut(suspect.effect.id))
    last = next
    return next
  }
}
