import type { EffectOutcome, StoredEffect } from '../engine/effect-store.js'
import { effectBounds, limits } from '../kernel/limits.js'
import type { Ending } from './carrying.js'
import { unsettled } from './deciding.js'
import type { Held } from './held.js'

/**
 * Effects that were claimed more than once, and whose workers never came back. One of several may be what ended the
 * workers, and the others only lay beside it. So that it is found out which, each is given back and claimed by itself, one
 * after another: the next death counts against one effect only.
 */
export interface Suspects {
  /** How many wait for their turn, or have it. */
  size(): number
  isSuspect(effect: StoredEffect): boolean
  /** Gives it back, and has it carried out when its turn comes. Resolves when it has ended. */
  take(suspect: Held): Promise<Ending | 'busy'>
}

export interface SuspectsOptions {
  /** So many wait at most: those beyond are found again. */
  readonly most: number
  readonly settle: (held: Held, outcome: EffectOutcome) => Promise<unknown>
  /** Claims it by its id, due or not. */
  readonly claim: (id: number) => Promise<Held | undefined>
  readonly carryOut: (held: Held) => Promise<Ending>
}

export function suspects({ most, settle, claim, carryOut }: SuspectsOptions): Suspects {
  const waiting = new Set<number>()
  /** Those that were carried out here and did not end their worker, with what had spoken against them. */
  const acquitted = new Map<number, number>()
  let last: Promise<unknown> = Promise.resolve()

  async function tried({ effect }: Held): Promise<Ending | 'busy'> {
    const held = await claim(effect.id)
    if (held === undefined) return 'busy'
    // Somebody else had it meanwhile, and said when it is due.
    if (held.effect.finished !== effect.finished) {
      await settle(held, { kind: 'release' })
      return 'busy'
    }
    const ending = await carryOut(held)
    if (ending === 'retry') acquit(held.effect)
    return ending
  }

  function acquit(effect: StoredEffect): void {
    acquitted.set(effect.id, unsettled(effect))
    const [oldest] = acquitted.keys()
    if (acquitted.size > limits.batch && oldest !== undefined) acquitted.delete(oldest)
  }

  return {
    size: () => waiting.size,
    isSuspect: (effect) => unsettled(effect) - (acquitted.get(effect.id) ?? 0) >= effectBounds.suspicious,
    async take(suspect) {
      const { id } = suspect.effect
      const given = settle(suspect, { kind: 'release', dueInMs: effectBounds.suspectMs })
      if (waiting.has(id) || waiting.size >= most) {
        await given
        return 'release'
      }
      waiting.add(id)
      const turn = Promise.allSettled([given, last]).then(() => tried(suspect))
      last = turn
      try {
        return await turn
      } finally {
        waiting.delete(id)
      }
    },
  }
}
