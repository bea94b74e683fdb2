import type { Clock } from '../kernel/clock.js'

/** Something that is due at a time on the monotonic clock, unless it is over by then. */
export interface Due {
  readonly dueAt: number
  due(): void
}

/**
 * One timer for all that is hardly ever due: most handlers end long before their lease has to be renewed, and a timer for
 * each of them, set and cleared again, would cost more than the rest of the lease.
 */
export interface Pulse {
  add(due: Due): void
  remove(due: Due): void
  stop(): void
}

export function pulse(clock: Clock): Pulse {
  const waiting = new Set<Due>()
  let nextAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  function wakeAt(at: number): void {
    cancel()
    nextAt = at
    cancel = clock.after(Math.max(0, at - clock.elapsed()), beat, 'weakly')
  }

  function beat(): void {
    const now = clock.elapsed()
    let earliest = Number.POSITIVE_INFINITY
    nextAt = earliest
    for (const one of waiting) {
      if (one.dueAt > now) earliest = Math.min(earliest, one.dueAt)
      else {
        waiting.delete(one)
        one.due()
      }
    }
    if (earliest < nextAt) wakeAt(earliest)
  }

  return {
    add(due) {
      waiting.add(due)
      if (due.dueAt < nextAt) wakeAt(due.dueAt)
    },
    remove: (due) => void waiting.delete(due),
    stop() {
      cancel()
      waiting.clear()
      nextAt = Number.POSITIVE_INFINITY
    },
  }
}
