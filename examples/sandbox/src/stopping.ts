import type { Server, ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** npm passes a Ctrl-C on that the terminal has already delivered: two signals this close are one. */
const sameSignalWithinMs = 500

/**
 * On Ctrl-C or SIGTERM: takes no new request, lets what is guarded finish within the engine's bound, then lets the
 * replies out and ends well. A second signal ends at once; what it interrupts is rolled back and may be retried.
 */
export function stopOnSignal(server: Server, closeRest: () => Promise<void>): void {
  const running = new Set<ServerResponse>()
  server.on('request', (_request, response) => {
    running.add(response)
    response.on('close', () => running.delete(response))
  })

  let stoppingSince: number | undefined
  const stop = () => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now()
      console.error('stopping: running requests may finish; press Ctrl-C again to stop at once')
      finish().catch((error: unknown) => {
        console.error('could not stop cleanly:', error)
        process.exit(1)
      })
    } else if (performance.now() - stoppingSince > sameSignalWithinMs) process.exit(1)
  }

  async function finish(): Promise<void> {
    server.close()
    await closeRest()
    await allClosed(running)
    server.closeAllConnections()
    process.exit(0)
  }

  process.on('SIGINT', stop).on('SIGTERM', stop)
}

/** How long a reply that is ready may take to leave. */
const leaveWithinMs = 500

/** Resolves when every response is through, those that come meanwhile included, or when the time is up. */
async function allClosed(running: ReadonlySet<ServerResponse>): Promise<void> {
  const enough = delay(leaveWithinMs)
  for (const response of running) {
    await Promise.race([new Promise((resolve) => response.once('close', resolve)), enough])
  }
}
