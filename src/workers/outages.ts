import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import type { Clock } from '../kernel/clock.js'
import { backoffs } from '../kernel/limits.js'

/** Which operations have a provider that fails to answer questions. Each is left alone for longer and longer. */
export interface Outages {
  isOut(operation: string): boolean
  /** It did not answer. What was asked at the same time and fails with it is the same outage. */
  failed(operation: string): void
  answered(operation: string): void
}

export function outages(clock: Clock, chance: Chance): Outages {
  const out = new Map<string, { readonly failures: number; readonly until: number }>()
  const isOut = (operation: string) => (out.get(operation)?.until ?? Number.NEGATIVE_INFINITY) > clock.elapsed()
  return {
    isOut,
    failed(operation) {
      if (isOut(operation)) return
      const failures = (out.get(operation)?.failures ?? 0) + 1
      // At least half of it: chance must not undo that the pause grows.
      const pauseMs = backoffMs(backoffs.outage, failures, { ...chance, fraction: () => 0.5 + chance.fraction() / 2 })
      out.set(operation, { failures, until: clock.elapsed() + pauseMs })
    },
    answered: (operation) => void out.delete(operation),
  }
}
