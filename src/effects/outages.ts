import { type Backoff, backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import type { Clock } from '../kernel/clock.js'

/** Which providers fail to answer questions, by kind of effect or by operation. Each is left alone for longer and longer. */
export interface Outages {
  isOut(kind: string): boolean
  leftMs(kind: string): number
  /** Whom nobody asks now, and for how long. */
  all(): readonly Paused[]
  /**
   * It did not answer; gives how long nobody asks. What was asked at the same time and fails with it is the same outage.
   */
  failed(kind: string): number
  answered(kind: string): void
}

/** A kind of effect, or an operation, whose provider did not answer and is left alone. */
export interface Paused {
  readonly of: string
  readonly forMs: number
}

export function outages(backoff: Backoff, clock: Clock, chance: Chance): Outages {
  const out = new Map<string, { readonly failures: number; readonly until: number }>()
  const leftMs = (kind: string) => Math.max(0, (out.get(kind)?.until ?? Number.NEGATIVE_INFINITY) - clock.elapsed())
  return {
    isOut: (kind) => leftMs(kind) > 0,
    leftMs,
    all: () => [...out.keys()].map((of) => ({ of, forMs: leftMs(of) })).filter(({ forMs }) => forMs > 0),
    failed(kind) {
      if (leftMs(kind) > 0) return leftMs(kind)
      const failures = (out.get(kind)?.failures ?? 0) + 1
      // At least half of it: chance must not undo that the pause grows.
      const pauseMs = backoffMs(backoff, failures, { ...chance, fraction: () => 0.5 + chance.fraction() / 2 })
      out.set(kind, { failures, until: clock.elapsed() + pauseMs })
      return pauseMs
    },
    answered: (kind) => void out.delete(kind),
  }
}
