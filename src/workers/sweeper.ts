import { workerBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { pacedBy, type WorkerOptions } from './options.js'
import { did } from './passes.js'
import { type Service, service } from './service.js'

/** Finds claims that nobody renews any more, so that a crash locks no key for longer than its lease and one interval. */
export function sweeper<Tx>(host: WorkersHost<Tx>, options: WorkerOptions = {}): Service {
  const { everyMs, batch } = pacedBy(options, 'sweeper', workerBounds.sweepMs, workerBounds.sweepBatch)
  return service(host, {
    name: 'sweeper',
    everyMs,
    async pass() {
      const { length } = await host.chores.sweep(batch)
      return { did: did({ swept: length }), left: length === batch ? 'more' : 'nothing' }
    },
  })
}
