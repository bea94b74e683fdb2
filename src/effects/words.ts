import { unavailable } from '../engine/bounded-store.js'
import type { CallStore, KeptTestimony } from '../engine/call-store.js'
import type { StoredEffect } from '../engine/effect-store.js'
import type { Testimony } from '../engine/inbox-store.js'
import { type Clock, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'

/** Where what was said about calls and effects is kept: `store.calls`. Without `testify` nothing is added to it. */
export type EffectTestimonies = Pick<CallStore, 'testimonies'> & Partial<Pick<CallStore, 'testify'>>

/** The same, each step within a bound. */
export interface Words {
  about(effects: readonly StoredEffect[]): Promise<readonly KeptTestimony[]>
  keep(testimony: Testimony): Promise<'kept' | 'nowhere'>
}

export function wordsOf(calls: EffectTestimonies | undefined, clock: Clock): Words {
  async function bounded<T>(step: string, ask: () => Promise<T>): Promise<T> {
    const late = () => new HapaxError('idempotency_store_unavailable', `The store did not answer "${step}" in time.`)
    try {
      return await within(clock, defaults.storeTimeoutMs, ask(), late)
    } catch (error) {
      throw unavailable(step, error)
    }
  }
  return {
    async about(effects) {
      if (calls === undefined || effects.length === 0) return []
      const keys = effects.map(({ downstreamKey }) => downstreamKey)
      return bounded('calls.testimonies', () => calls.testimonies(keys))
    },
    async keep(testimony) {
      if (calls?.testify === undefined) return 'nowhere'
      await bounded('calls.testify', async () => calls.testify?.(testimony))
      return 'kept'
    },
  }
}
