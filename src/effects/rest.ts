import type { Clock } from '../kernel/clock.js'
import { sleep } from '../kernel/clock.js'

/** A pause that a nudge ends at once. One that came while nobody rested ends the next pause. */
export interface Rest {
  nudge(): void
  pause(ms: number, signal: AbortSignal): Promise<void>
}

export function rest(clock: Clock): Rest {
  let isNudged = false
  let wake = () => {}
  return {
    nudge() {
      isNudged = true
      wake()
    },
    async pause(ms, signal) {
      if (!isNudged && !signal.aborted) {
        const awake = new AbortController()
        const stop = () => awake.abort()
        wake = stop
        signal.addEventListener('abort', stop, { once: true })
        await sleep(clock, ms, awake.signal)
        signal.removeEventListener('abort', stop)
        wake = () => {}
      }
      isNudged = false
    },
  }
}
