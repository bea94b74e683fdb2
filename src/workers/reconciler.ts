import { outages } from '../effects/outages.js'
import type { Asking } from '../engine/chores.js'
import type { Reconciled } from '../engine/leaving.js'
import { backoffs, workerBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { pacedBy, type WorkerOptions } from './options.js'
import { did } from './passes.js'
import { type Service, service } from './service.js'

/**
 * Finds out about doubts, by what others said and by asking providers. A provider that does not answer is asked less and
 * less often, which counts against no doubt: an outage does not fill the operator's queue.
 */
export function reconciler<Tx>(host: WorkersHost<Tx>, options: WorkerOptions = {}): Service {
  const { everyMs, batch } = pacedBy(options, 'reconciler', workerBounds.reconcileMs, workerBounds.reconcileBatch)
  const silent = outages(backoffs.outage, host.clock, host.chance)
  const asking: Asking = {
    mayAsk: (operation) => !silent.isOut(operation),
    heard(operation, came) {
      if (came === 'outage') silent.failed(operation)
      else silent.answered(operation)
    },
  }
  return service(host, {
    name: 'reconciler',
    everyMs,
    async pass(signal) {
      const reconciled = await host.chores.reconcile(batch, asking, signal)
      const count = (kind: Reconciled) => reconciled.filter((one) => one === kind).length
      const [settled, putOff, outage] = [count('settled'), count('put_off'), count('outage')]
      return {
        did: did({ settled, put_off: putOff, outage, left_to_operator: count('left_to_operator') }),
        left: reconciled.length === batch ? 'more' : 'nothing',
        paused: silent.all(),
      }
    },
  })
}
