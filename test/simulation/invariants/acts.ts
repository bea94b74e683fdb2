import { isFinal, type StoredEffect } from '../../../src/engine/effect-store.js'
import type { Act } from '../provider.js'
import { demand } from '../violation.js'

/** Whatever a provider is asked for happens once per request, whether it honours keys or not, unless he denies what he has done. */
export function judgeAct(act: Act, isFirst: boolean, effects: () => Iterable<StoredEffect>): void {
  demand(isFirst || act.isDenied === true, () => `a second ${act.service} for ${act.subject}`)
  judgeOrder(act, effects)
}

/** Effects of one order are carried out one after another: here those of a tenant for the same thing are of one. */
function judgeOrder(act: Act, effects: () => Iterable<StoredEffect>): void {
  if (act.service !== 'shipment') return
  const all = [...effects()]
  const own = all.find(({ downstreamKey }) => downstreamKey === act.key)
  if (own === undefined) return
  const before = all.find(
    (other) => other.scope === own.scope && other.id < own.id && !isFinal(other.state) && itemOf(other) === itemOf(own),
  )
  demand(before === undefined, () => `${act.subject} was shipped before an earlier one of its order`)
}

/** What is shipped, as the application asked for it: what the engine made of that is judged here. */
function itemOf({ payload }: StoredEffect): string | undefined {
  return /"item":"(\w+)"/.exec(Buffer.from(payload).toString())?.[1]
}
