import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** npm passes a Ctrl-C on that the terminal has already delivered: two signals this close are one. */
const sameSignalWithinMs = 500
/** How long a reply that is ready may take to leave. */
const leaveWithinMs = 500

/**
 * On Ctrl-C or SIGTERM: takes no new request, lets what is guarded finish within the engine's bound, then lets the
 * replies out and ends well. A second signal ends at once; what it interrupts is rolled back and may be retried.
 */
export function stopOnSignal(app: FastifyInstance, closeRest: () => Promise<void>): void {
  let stoppingSince: number | undefined
  const stop = () => {
    if (stoppingSince === undefined) {
      stoppingSince = performance.now()
      finish().catch((error: unknown) => {
        console.error('could not stop cleanly:', error)
        process.exit(1)
      })
      console.error('stopping: running requests may finish; press Ctrl-C again to stop at once')
    } else if (performance.now() - stoppingSince > sameSignalWithinMs) process.exit(1)
  }

  async function finish(): Promise<void> {
    // Listens no more from here on, and is closed when every connection is.
    const closed = app.close().catch((error: unknown) => console.error('the server did not close:', error))
    await closeRest()
    await Promise.race([closed, delay(leaveWithinMs)])
    app.server.closeAllConnections()
    process.exit(0)
  }

  process.on('SIGINT', stop).on('SIGTERM', stop)
  // Whoever supervised us is gone, and nobody would start us again.
  process.on('disconnect', stop)
}
