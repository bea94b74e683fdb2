import type { Clock } from 'hapax'

/** A clock that stands still until it is told to move. */
export interface ManualClock extends Clock {
  /** Moves on by `ms`, calling back on the way, in order, with everything that follows from each call. */
  advance(ms: number): Promise<void>
  /** Lets everything happen that needs no time. */
  settle(): Promise<void>
}

export function manualClock(startAt = 1_700_000_000_000): ManualClock {
  let elapsed = 0
  let lastId = 0
  const timers = new Map<number, { at: number; callback: () => void }>()

  const next = (until: number) =>
    [...timers].filter(([, timer]) => timer.at <= until).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0]

  async function settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  return {
    now: () => startAt + elapsed,
    elapsed: () => elapsed,
    after(ms, callback) {
      const id = ++lastId
      timers.set(id, { at: elapsed + ms, callback })
      return () => timers.delete(id)
    },
    async advance(ms) {
      await settle()
      const until = elapsed + ms
      for (let due = next(until); due !== undefined; due = next(until)) {
        const [id, timer] = due
        timers.delete(id)
        elapsed = Math.max(elapsed, timer.at)
        timer.callback()
        await settle()
      }
      elapsed = until
      await settle()
    },
    settle,
  }
}
