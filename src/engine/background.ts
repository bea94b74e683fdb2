import { setMaxListeners } from 'node:events'
import { type Clock, sleep } from '../kernel/clock.js'

/** Work that outlives the request that began it: handlers whose caller is gone, answers that are not stored yet. */
export interface Background {
  /** Counts the promise as under way until it settles. A failure is its owner's to report. */
  track<T>(promise: Promise<T>): Promise<T>
  /**
   * Resolves when nothing is under way any more. What still runs after `patienceMs` hears it by the signal, and has
   * `lastWordsMs` to write down how it ended.
   */
  drain(patienceMs: number, lastWordsMs: number): Promise<void>
  /** Aborts when draining is over: nobody waits for what still runs. */
  readonly ended: AbortSignal
  /** Calls back when `ended` aborts, or at once. Every request asks for this, and a listener of a signal costs more. */
  onEnd(callback: () => void): () => void
}

export function background(clock: Clock): Background {
  const underWay = new Set<Promise<unknown>>()
  const end = new AbortController()
  const callbacks = new Set<() => void>()
  // Every waiting duplicate listens, and takes its listener away again.
  setMaxListeners(0, end.signal)

  /** Waits for all that is under way, and for what follows from it, but no longer than `ms`. */
  async function settled(ms: number): Promise<void> {
    const deadline = clock.elapsed() + ms
    const enough = new AbortController()
    const bound = sleep(clock, ms, enough.signal)
    while (underWay.size > 0 && clock.elapsed() < deadline) await Promise.race([Promise.allSettled(underWay), bound])
    enough.abort()
  }

  return {
    ended: end.signal,
    track(promise) {
      const done = () => underWay.delete(promise)
      promise.then(done, done)
      underWay.add(promise)
      return promise
    },
    onEnd(callback) {
      if (end.signal.aborted) callback()
      else callbacks.add(callback)
      return () => callbacks.delete(callback)
    },
    async drain(patienceMs, lastWordsMs) {
      await settled(patienceMs)
      end.abort()
      for (const callback of callbacks) callback()
      await settled(lastWordsMs)
    },
  }
}
