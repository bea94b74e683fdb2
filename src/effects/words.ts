import type { CallStore, KeptTestimony } from '../engine/call-store.js'
import type { StoredEffect } from '../engine/effect-store.js'
import type { InTime } from '../engine/in-time.js'
import type { Testimony } from '../engine/inbox-store.js'
import { defaults } from '../kernel/limits.js'

/** Where what was said about calls and effects is kept: `store.calls`. Without `testify` nothing is added to it. */
export type EffectTestimonies = Pick<CallStore, 'testimonies'> & Partial<Pick<CallStore, 'testify'>>

/** The same, each step within a bound. */
export interface Words {
  about(effects: readonly StoredEffect[]): Promise<readonly KeptTestimony[]>
  keep(testimony: Testimony): Promise<'kept' | 'nowhere'>
}

export function wordsOf(calls: EffectTestimonies | undefined, inTime: InTime): Words {
  return {
    async about(effects) {
      if (calls === undefined || effects.length === 0) return []
      const keys = effects.map(({ downstreamKey }) => downstreamKey)
      return inTime('calls.testimonies', () => calls.testimonies(keys), defaults.storeTimeoutMs)
    },
    async keep(testimony) {
      if (calls?.testify === undefined) return 'nowhere'
      await inTime('calls.testify', async () => calls.testify?.(testimony), defaults.storeTimeoutMs)
      return 'kept'
    },
  }
}
