import { effectReconciler as reconcilerOf } from '../effects/reconciler.js'
import type { Passed } from '../effects/watch.js'
import { type EffectWorker, watchedWorker as workerOf } from '../effects/worker.js'
import type { EffectWorkerOptions } from '../effects/worker-options.js'
import { effectBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { pacedBy, type WorkerOptions } from './options.js'
import { did, passes } from './passes.js'
import { type Service, service } from './service.js'

export type EffectServiceOptions = Pick<EffectWorkerOptions<never>, 'concurrency' | 'batch' | 'lease'>

export interface EffectService extends Service {
  /** Carries out this one effect, due or not, for whoever it was handed over to. */
  carryOut: EffectWorker['carryOut']
}

/** The effect worker as a service. It has a loop of its own, whose passes overlap. `undefined` where the engine has no effects. */
export function effectService<Tx>(
  host: WorkersHost<Tx>,
  options: EffectServiceOptions = {},
): EffectService | undefined {
  const surroundings = surroundingsIn(host)
  if (surroundings === undefined) return undefined
  const worker = workerOf<Tx>({ ...surroundings, ...options })
  const name = 'effects'
  const { made, pauseAfter, status } = passes(name, host)
  const pass = (make: () => Promise<Passed>) =>
    made(async () => {
      await host.open()
      const { claimed, ...endings } = await make()
      return { did: did({ claimed, ...endings }), left: claimed > 0 ? 'more' : 'nothing' }
    })

  return {
    name,
    runOnce: () => pass(worker.runOnce),
    run: (signal) => worker.run(signal, { pass, pauseAfter }),
    nudge: worker.nudge,
    status,
    async carryOut(effectId) {
      await host.open()
      return worker.carryOut(effectId)
    },
  }
}

/** Finds out about effects that are in doubt. It leaves a provider alone that does not answer, one kind at a time. */
export function effectReconcilerService<Tx>(host: WorkersHost<Tx>, options: WorkerOptions = {}): Service | undefined {
  const surroundings = surroundingsIn(host)
  if (surroundings === undefined) return undefined
  const { everyMs } = pacedBy(options, 'effectReconciler', effectBounds.lookMs, effectBounds.doubts)
  const reconciler = reconcilerOf<Tx>(surroundings)
  return service(host, {
    name: 'effectReconciler',
    everyMs,
    async pass() {
      await host.open()
      const { looked, landed, notLanded, postponed, unresolved } = await reconciler.runOnce()
      return {
        did: did({ landed, not_landed: notLanded, put_off: postponed, left_to_operator: unresolved }),
        left: looked >= effectBounds.doubts ? 'more' : 'nothing',
        paused: reconciler.paused(),
      }
    },
  })
}

function surroundingsIn<Tx>({ outbox, calls, effects, clock, chance, events, log }: WorkersHost<Tx>) {
  if (outbox === undefined || effects === undefined || effects.kinds.size === 0) return undefined
  return { store: outbox, ...(calls !== undefined && { calls }), effects, clock, chance, events, log }
}
