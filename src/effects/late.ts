import type { EffectResult } from '../engine/effect-store.js'
import { backoffMs } from '../kernel/backoff.js'
import { sleep } from '../kernel/clock.js'
import { backoffs, defaults, effectBounds } from '../kernel/limits.js'
import { Stopping } from '../kernel/stopping.js'
import type { Held } from './held.js'
import { packed } from './packed.js'
import { type Surroundings, subjectOf } from './surroundings.js'

/** What calls gave that nobody waited for any more: the best evidence that there is, and nobody else may ever have it. */
export interface LateResults {
  /** Writes it down in the background. That a call gave nothing may only mean that it was given up. */
  keep(held: Held, value: unknown): void
  /** Waits for what is being written, within a bound. */
  written(): Promise<void>
}

export function lateResults<Tx>(around: Surroundings<Tx>): LateResults {
  const { store, words, clock, chance, events, log } = around
  const writing = new Set<Promise<void>>()

  async function insisted(held: Held, said: EffectResult): Promise<void> {
    for (let attempt = 1; attempt <= effectBounds.storeTries; attempt++) {
      if (await kept(held, said).catch(() => false)) return
      await sleep(clock, backoffMs(backoffs.storing, attempt, chance))
    }
  }

  /** As a testimony it counts in whatever state the effect is. Without a place for those, it can only end the doubt itself. */
  async function kept({ claim, effect }: Held, said: EffectResult): Promise<boolean> {
    const { downstreamKey } = effect
    const why = 'the call answered too late'
    const testimony = { downstreamKey, says: 'landed', result: said.result, by: 'holder', why } as const
    if ((await words.keep(testimony)) === 'kept') return true
    const isResolved = await store.resolve(claim, { kind: 'landed', ...said })
    if (isResolved) events.emit('effect_reconciled', () => ({ ...subjectOf(effect), says: 'landed', by: 'holder' }))
    return isResolved
  }

  function packable({ kind }: Held, value: unknown): EffectResult | undefined {
    try {
      return packed(kind, value, log)
    } catch {
      // What cannot be kept is no evidence: the effect stays in doubt.
      return undefined
    }
  }

  return {
    keep(held, value) {
      const said = value === undefined ? undefined : packable(held, value)
      if (said === undefined) return
      const written = insisted(held, said).finally(() => writing.delete(written))
      writing.add(written)
    },
    async written() {
      if (writing.size === 0) return
      const enough = new Stopping()
      const all = Promise.all(writing).then(() => enough.stop())
      await Promise.race([all, sleep(clock, defaults.lastWordsMs, enough)])
    },
  }
}
