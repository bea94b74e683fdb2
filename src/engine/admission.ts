import { type Context, subjectOf } from './context.js'
import { staleness } from './freshness.js'
import type { Guarded } from './guarded.js'

/**
 * Asks whether a key that is new may be taken, and throws when it may not. Asked only where the store would make a new
 * record, so a retry of a key that is known is never held up.
 */
export type Admission = () => Promise<void>

/** `undefined` when everybody is let in: then a new key costs no question. */
export function admissionOf<Tx>(context: Context<Tx>, guarded: Guarded<Tx>): Admission | undefined {
  if (guarded.minted === true) return undefined
  const { quotas, events, clock } = context
  const stale = staleness(guarded, clock.now())
  if (stale === undefined && quotas === undefined) return undefined
  return async () => {
    try {
      if (stale !== undefined) throw stale
      await quotas?.admit(guarded.scope)
    } catch (error) {
      events.emit('turned_away', () => ({ ...subjectOf(guarded), errorCode: (error as { code: string }).code }))
      throw error
    }
  }
}
