/** When to start a process again that has ended without being told to. */
export interface Restarts {
  /** How long to wait first; `undefined` once there is no hope. Says aloud which. */
  after(death: Death): number | undefined
}

export interface Death {
  /** Whether it had begun to serve. */
  readonly wasReady: boolean
  readonly how: string
}

/** One that never serves is tried so often, with pauses that double. */
const hopeless = { starts: 10, firstPauseMs: 100, mostPauseMs: 5_000 }
/** One that serves is started again at once, but no more often than this: whoever kills it for sport may. */
const often = { starts: 120, withinMs: 60_000 }

export function restartsOf(name: string, now: () => number = Date.now): Restarts {
  let failed = 0
  let recent: readonly number[] = []
  return {
    after({ wasReady, how }) {
      failed = wasReady ? 0 : failed + 1
      if (failed >= hopeless.starts) {
        console.error(`${name} ${how}, for the ${failed}th time before it served: given up`)
        return undefined
      }
      const at = now()
      recent = recent.filter((time) => time > at - often.withinMs)
      const [oldest = at] = recent
      const tooOftenMs = recent.length >= often.starts ? oldest + often.withinMs - at : 0
      const failedMs = failed === 0 ? 0 : Math.min(hopeless.firstPauseMs * 2 ** (failed - 1), hopeless.mostPauseMs)
      const pauseMs = Math.max(tooOftenMs, failedMs)
      recent = [...recent, at + pauseMs].slice(-often.starts)
      console.error(`${name} ${how}: starting it again${pauseMs === 0 ? '' : ` in ${pauseMs} ms`}`)
      return pauseMs
    },
  }
}
