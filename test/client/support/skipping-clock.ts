import type { Clock } from 'hapax/client'

/** A clock that skips the pauses between attempts and notes them. What guards an attempt is left to real time. */
export interface SkippingClock extends Clock {
  readonly pauses: number[]
  /** Timers of attempts that nobody has cancelled. */
  readonly guards: Set<unknown>
  pass(ms: number): void
}

/** The timeout of attempts in these tests, by which their guards are recognised; and the deadlines. */
export const attemptTimeout = '19999ms'
const isGuard = (ms: number) => (ms > 19_000 && ms < 20_000) || ms === 60_000 || ms === 3_600_000

export function skippingClock(): SkippingClock {
  let elapsed = 0
  const pauses: number[] = []
  const guards = new Set<unknown>()
  return {
    pauses,
    guards,
    pass(ms) {
      elapsed += ms
    },
    now: () => 1_700_000_000_000 + elapsed,
    elapsed: () => elapsed,
    after(ms, callback) {
      if (isGuard(ms)) {
        const timer = setTimeout(callback, ms)
        guards.add(timer)
        return () => {
          clearTimeout(timer)
          guards.delete(timer)
        }
      }
      const soon = setImmediate(() => {
        pauses.push(ms)
        elapsed += ms
        callback()
      })
      return () => clearImmediate(soon)
    },
  }
}
