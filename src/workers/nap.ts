import { type Clock, sleep } from '../kernel/clock.js'
import { workerBounds } from '../kernel/limits.js'

/**
 * A rest that a nudge ends, though never before the gap between two passes is over: however many nudges there are, passes
 * are rare. A nudge that came while nobody rested shortens the next rest.
 */
export interface Nap {
  nudge(): void
  rest(ms: number, signal: AbortSignal): Promise<void>
}

export function nap(clock: Clock): Nap {
  let isNudged = false
  let onNudge = () => {}
  return {
    nudge() {
      isNudged = true
      onNudge()
    },
    async rest(ms, signal) {
      const gapMs = Math.min(ms, workerBounds.nudgeGapMs)
      await sleep(clock, gapMs, signal)
      if (!isNudged && ms > gapMs && !signal.aborted) {
        const nudged = new AbortController()
        const stop = () => nudged.abort()
        onNudge = stop
        signal.addEventListener('abort', stop, { once: true })
        await sleep(clock, ms - gapMs, nudged.signal)
        signal.removeEventListener('abort', stop)
        onNudge = () => {}
      }
      isNudged = false
    },
  }
}
