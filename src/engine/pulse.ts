import type { Clock } from '../kernel/clock.js'
import { nowhere, Roster, type Rostered } from '../kernel/roster.js'

/** Something that is due at a time on the monotonic clock, unless it is over by then. */
export interface Due extends Rostered {
  readonly dueAt: number
  due(): void
}

/**
 * One timer for all that is hardly ever due: most handlers end long before their lease has to be renewed, and a timer for
 * each of them, set and cleared again, would cost more than the rest of the lease.
 */
export interface Pulse {
  add(due: Due): void
  /** Whether it was still waiting. */
  remove(due: Due): boolean
  stop(): void
}

/** One that waits weakly keeps no process alive that has nothing else to do; any other does while something waits in it. */
export function pulse(clock: Clock, how?: 'weakly'): Pulse {
  const waiting = new Roster<Due>()
  let nextAt = Number.POSITIVE_INFINITY
  let cancel = () => {}

  function wakeAt(at: number): void {
    cancel()
    nextAt = at
    cancel = clock.after(Math.max(0, at - clock.elapsed()), beat, how)
  }

  function beat(): void {
    const now = clock.elapsed()
    let earliest = Number.POSITIVE_INFINITY
    nextAt = earliest
    for (const one of waiting.all()) {
      // One that was due before it may have taken it away.
      if (one.place === nowhere) continue
      if (one.dueAt > now) earliest = Math.min(earliest, one.dueAt)
      else {
        waiting.remove(one)
        one.due()
      }
    }
    if (earliest < nextAt) wakeAt(earliest)
  }

  function rest(): void {
    cancel()
    nextAt = Number.POSITIVE_INFINITY
  }

  return {
    add(due) {
      waiting.add(due)
      if (due.dueAt < nextAt) wakeAt(due.dueAt)
    },
    remove(due) {
      const wasWaiting = waiting.remove(due)
      if (waiting.size === 0 && how !== 'weakly') rest()
      return wasWaiting
    },
    stop() {
      waiting.clear()
      rest()
    },
  }
}

/** Timers of which hardly any fires, as one. */
export function sharedTimer(clock: Clock): Pick<Clock, 'after'> {
  const waits = pulse(clock)
  return {
    after(ms, callback) {
      const due = { dueAt: clock.elapsed() + ms, due: callback, place: nowhere }
      waits.add(due)
      return () => void waits.remove(due)
    },
  }
}
