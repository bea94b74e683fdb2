import { rest } from '../effects/rest.js'
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
  const rested = rest(clock)
  return {
    nudge: rested.nudge,
    async rest(ms, signal) {
      const gapMs = Math.min(ms, workerBounds.nudgeGapMs)
      await sleep(clock, gapMs, signal)
      await rested.pause(ms - gapMs, signal)
    },
  }
}
