import { isOver, onOver, type Stopping } from './stopping.js'

/**
 * Time as a port. Nothing outside this folder reads a clock or sets a timer, so that a simulator can own time.
 * A lease is never judged on this clock: only the store's clock decides what is over.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970, for logs and for stores that have no clock of their own. */
  now(): number
  /** Milliseconds on a clock that never goes back; only differences mean something. */
  elapsed(): number
  /**
   * Calls back once after `ms`. The function returned cancels it. One that waits weakly keeps no process alive that has
   * nothing else to do.
   */
  after(ms: number, callback: () => void, how?: 'weakly'): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback, how) {
    if (ms > longestMs) return afterLong(ms, callback, how)
    const timer = setTimeout(callback, ms)
    if (how === 'weakly') timer.unref()
    return () => clearTimeout(timer)
  },
}

function afterLong(ms: number, callback: () => void, how: 'weakly' | undefined): () => void {
  let cancel = systemClock.after(
    longestMs,
    () => {
      cancel = systemClock.after(ms - longestMs, callback, how)
    },
    how,
  )
  return () => cancel()
}

/** Taken before anybody puts another in its place, as tests do: what waits for the end of a turn must not wait for ever. */
const immediately = globalThis.setImmediate

/** Calls back when all that came in this turn of the event loop has been read. */
export function atEndOfTurn(callback: () => void): void {
  immediately(callback)
}

/** What a timer can hold, about 24 days; a longer one would fire at once. */
const longestMs = 2 ** 31 - 1

/** Resolves after `ms`, or as soon as that is stopped: whoever waits looks at it himself. */
export function sleep(clock: Clock, ms: number, until?: Stopping | AbortSignal, how?: 'weakly'): Promise<void> {
  return new Promise((resolve) => {
    if (until !== undefined && isOver(until)) return resolve()
    const wake = () => {
      cancel()
      unlisten?.()
      resolve()
    }
    const cancel = clock.after(ms, wake, how)
    const unlisten = until && onOver(until, wake)
  })
}

/** Every wait has a bound: rejects with `late()` when the promise has not settled within `ms`. */
export function within<T>(clock: Clock, ms: number, promise: Promise<T>, late: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(late()))
    promise.then(
      (value) => {
        cancel()
        resolve(value)
      },
      (error: unknown) => {
        cancel()
        reject(error)
      },
    )
  })
}
