import { type Came, effectReconciler } from '../effects/reconciler.js'
import type { LookDeed } from '../engine/audit-store.js'
import type { StoredEffect } from '../engine/effect-store.js'
import type { Engine } from '../engine/engine.js'
import type { Reconciled } from '../engine/leaving.js'

/** Who looks at doubts about effects because somebody wants to know now. */
export interface Lookout {
  /** Keeps a doubt from others for as long as a look may take, for `one`. */
  lookOf(effect: StoredEffect): LookDeed
  one(effect: StoredEffect): Promise<Reconciled>
  /** All whose time has come, up to a batch of them. What does not begin is left alone. */
  due(begins: (deed: LookDeed) => Promise<boolean>): Promise<readonly Reconciled[]>
}

/**
 * A reconciler of its own: it asks a provider that workers have left alone for a while, too. `undefined` where the engine has
 * no effects.
 */
export function lookoutOf<Tx>(hapax: Engine<Tx>): Lookout | undefined {
  const { outbox, calls, effects, clock, chance, events, log } = hapax
  if (outbox === undefined || effects === undefined || effects.kinds.size === 0) return undefined
  const around = { ...(calls !== undefined && { calls }), effects, clock, chance, events, log }
  const { holdMs, look, runOnce } = effectReconciler({ store: outbox, ...around })
  const lookOf = ({ id, fence }: StoredEffect) => ({ kind: 'look', claim: { id, fence }, holdMs }) as const
  return {
    lookOf,
    one: async (effect) => cameAs[await look(effect)],
    async due(begins) {
      const { looked: _, ...ends } = await runOnce((effect) => begins(lookOf(effect)))
      return Object.entries(ends).flatMap(([came, count]) => Array(count).fill(cameAs[came as Came]) as Reconciled[])
    },
  }
}

/** What came of a look, in the words that there are for records. */
const cameAs = {
  landed: 'settled',
  notLanded: 'settled',
  postponed: 'put_off',
  unresolved: 'left_to_operator',
} as const satisfies Readonly<Record<Came, Reconciled>>
