import type { NewEffect } from '../../../engine/effect-store.js'
import type { Claim } from '../../../engine/record.js'
import { lockNumber } from '../advisory.js'
import { holding, valuesOf } from '../arguments.js'
import { arrayOf } from '../array.js'
import type { Execute } from '../executor.js'
import type { EffectQueries } from './effect-queries.js'

/** Writes effects in a transaction whose record they belong to. */
export interface EffectWriter {
  write(execute: Execute, claim: Claim, effects: readonly NewEffect[]): Promise<void>
}

export function effectWriter(schema: string, queries: EffectQueries): EffectWriter {
  return {
    async write(execute, claim, effects) {
      if (effects.length === 0) return
      const { scope } = claim
      const orders = effects.flatMap(({ order }) => (order === undefined ? [] : [`${scope} ${order}`]))
      const locks = orders.map((order) => lockNumber(schema, 'order', order))
      if (locks.length > 0) await execute(scope, queries.lockOrders, [arrayOf(locks)])
      const all = [
        effects.map(({ kind }) => kind),
        effects.map(({ payload }) => payload),
        effects.map(({ downstreamKey }) => downstreamKey),
        effects.map(({ phase }) => phase),
        effects.map(({ sequence }) => sequence),
        effects.map(({ order }) => order ?? null),
        effects.map(({ dueInMs }) => dueInMs),
      ]
      await execute(scope, queries.insert, [...valuesOf(holding, claim), ...all.map(arrayOf)])
    },
  }
}
