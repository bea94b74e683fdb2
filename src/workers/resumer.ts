import { workerBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { pacedBy, type WorkerOptions } from './options.js'
import { did } from './passes.js'
import { type Service, service } from './service.js'

/** Goes on with operations that were left half-done, though their clients never return. */
export function resumer<Tx>(host: WorkersHost<Tx>, options: WorkerOptions = {}): Service {
  const { everyMs, batch } = pacedBy(options, 'resumer', workerBounds.resumeMs, workerBounds.resumeBatch)
  return service(host, {
    name: 'resumer',
    everyMs,
    async pass(signal) {
      const resumed = await host.chores.resume(batch, signal)
      const ran = resumed.flatMap((one) => (one.kind === 'ran' ? [one.outcome] : []))
      const finished = ran.filter((outcome) => outcome.kind === 'answered' && outcome.stored).length
      // What somebody else has is found again: whoever found nothing but that waits, as after an empty pass.
      const hasMore = resumed.length === batch && ran.length > 0
      return {
        did: did({ finished, unfinished: ran.length - finished }),
        left: hasMore ? 'more' : 'nothing',
      }
    },
  })
}
