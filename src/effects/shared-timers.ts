import type { Clock } from '../kernel/clock.js'

interface Waiting {
  readonly endsAt: number
  readonly callback: () => void
}

/**
 * A clock on which many wait for the same length of time, and hardly anybody to the end. Of each length, those who began
 * first are over first: one timer, for the oldest, does for all of them.
 */
export function sharedTimers(clock: Clock): Pick<Clock, 'elapsed' | 'after'> {
  const lengths = new Map<number, (callback: () => void) => () => void>()
  return {
    elapsed: () => clock.elapsed(),
    after(ms, callback) {
      let after = lengths.get(ms)
      if (after === undefined) {
        after = ofLength(clock, ms)
        lengths.set(ms, after)
      }
      return after(callback)
    },
  }
}

function ofLength(clock: Clock, ms: number): (callback: () => void) => () => void {
  const all = new Set<Waiting>()
  let cancel: (() => void) | undefined

  function wake(): void {
    cancel = undefined
    const now = clock.elapsed()
    for (const waiting of all) {
      if (waiting.endsAt > now) {
        cancel = clock.after(waiting.endsAt - now, wake)
        return
      }
      all.delete(waiting)
      waiting.callback()
    }
  }

  return (callback) => {
    const waiting = { endsAt: clock.elapsed() + ms, callback }
    all.add(waiting)
    cancel ??= clock.after(ms, wake)
    return () => {
      all.delete(waiting)
      if (all.size > 0) return
      cancel?.()
      cancel = undefined
    }
  }
}
