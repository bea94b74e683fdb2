import type { Context } from './context.js'
import { staleness } from './freshness.js'
import type { Guarded } from './guarded.js'
import type { Joined } from './quota-sharing.js'

/**
 * Whether a key that is new may be taken: `admit` throws when it may not. Asked only where the store would make a new
 * record, so a retry of a key that is known is never held up.
 */
export type Admission = Joined

/** `undefined` when everybody is let in: then a new key costs no question. */
export function admissionOf<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Admission | undefined {
  if (guarded.minted === true) return undefined
  const { quotas, clock, storeTimeoutMs } = context
  const stale = staleness(guarded, clock.now())
  if (stale !== undefined) return { admit: () => Promise.reject(stale), leave() {} }
  return quotas?.join(guarded, storeTimeoutMs)
}
