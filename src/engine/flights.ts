import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import type { Outcome } from './outcome.js'

/**
 * Who is running what in this process, and how many wait. A duplicate that may wait joins the flight of the first
 * and shares its result without asking the store.
 */
export interface Flights {
  /** The flight under this name, if one is in the air. */
  find(name: string): Promise<Outcome> | undefined
  /** Announces a flight until it lands. A second one under the same name is not announced. */
  announce(name: string, flight: Promise<Outcome>): void
  /** Waits as one of a bounded number; one too many is refused at once with `waiting_room_full`. */
  waiting<T>(wait: () => Promise<T>): Promise<T>
}

export function flights(): Flights {
  const inTheAir = new Map<string, Promise<Outcome>>()
  let waiters = 0
  return {
    find: (name) => inTheAir.get(name),
    announce(name, flight) {
      if (inTheAir.has(name)) return
      inTheAir.set(name, flight)
      const land = () => inTheAir.delete(name)
      flight.then(land, land)
    },
    async waiting(wait) {
      if (waiters >= limits.waiters) {
        throw new HapaxError('waiting_room_full', undefined, { retryAfterMs: defaults.inProgressRetryAfterMs })
      }
      waiters++
      try {
        return await wait()
      } finally {
        waiters--
      }
    },
  }
}
