import type { Clock } from '../kernel/clock.js'
import { sleep } from '../kernel/clock.js'
import { onOver, Stopping } from '../kernel/stopping.js'

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
        const awake = new Stopping()
        wake = () => awake.stop()
        const unlisten = onOver(signal, wake)
        await sleep(clock, ms, awake)
        unlisten()
        wake = () => {}
      }
      isNudged = false
    },
  }
}
