import type { StoredEffect } from '../../../src/engine/effect-store.js'
import type { Act } from '../provider.js'
import { demand } from '../violation.js'

/** Whatever a provider is asked for happens once per request, whether it honours keys or not. */
export function judgeAct(act: Act, earlier: readonly Act[], effects: () => Iterable<StoredEffect>): void {
  const same = earlier.find(({ service, subject }) => service === act.service && subject === act.subject)
  demand(same === undefined, () => `a second ${act.service} for ${act.subject}`)
  judgeOrder(act, effects)
}

/** Effects of one order are carried out one after another. */
function judgeOrder(act: Act, effects: () => Iterable<StoredEffect>): void {
  if (act.service !== 'shipment') return
  const all = [...effects()]
  const own = all.find(({ downstreamKey }) => downstreamKey === act.key)
  if (own?.order === undefined) return
  const before = all.find(
    ({ scope, order, id, state }) =>
      scope === own.scope && order === own.order && id < own.id && state !== 'done' && state !== 'discarded',
  )
  demand(before === undefined, () => `${act.subject} was shipped before an earlier one of ${own.order}`)
}
