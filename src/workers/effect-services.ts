import { effectReconciler as reconcilerOf } from '../effects/reconciler.js'
import { effectWorker as workerOf } from '../effects/worker.js'
import type { EffectWorkerOptions } from '../effects/worker-options.js'
import { effectBounds } from '../kernel/limits.js'
import type { WorkersHost } from './host.js'
import { pacedBy, type WorkerOptions } from './options.js'
import { type Did, did, type Service, service } from './service.js'

export type EffectServiceOptions = Pick<EffectWorkerOptions<never>, 'concurrency' | 'batch' | 'lease'>

/**
 * The effect worker as a service. It has a loop of its own, whose passes overlap: while it runs, what it did is taken from
 * what it tells. `undefined` where the engine has no effects.
 */
export function effectService<Tx>(host: WorkersHost<Tx>, options: EffectServiceOptions = {}): Service | undefined {
  const surroundings = surroundingsIn(host)
  if (surroundings === undefined) return undefined
  const worker = workerOf<Tx>({ ...surroundings, ...options })
  const name = 'effects'
  const counts: Record<string, number> = {}
  let lastPassAt: number | undefined
  let lastWorkAt: number | undefined
  const told = {
    effect_done: 'done',
    effect_retried: 'retried',
    effect_dead: 'dead',
    effect_doubted: 'unknown',
  } as const
  for (const event of ['effect_done', 'effect_retried', 'effect_dead', 'effect_doubted'] as const)
    host.on(event, () => {
      counts[told[event]] = (counts[told[event]] ?? 0) + 1
      lastWorkAt = host.clock.now()
    })

  return {
    name,
    async runOnce() {
      const startedAt = host.clock.elapsed()
      await host.open()
      const { claimed, ...endings } = await worker.runOnce()
      const done = did({ claimed, ...endings })
      lastPassAt = host.clock.now()
      const tookMs = host.clock.elapsed() - startedAt
      host.events.emit('worker_passed', () => ({ worker: name, did: done, tookMs }))
      return { did: done, left: claimed > 0 ? 'more' : 'nothing' }
    },
    async run(signal) {
      // A database that is not there yet is what its own loop waits for.
      await host.open().catch(() => undefined)
      await worker.run(signal)
    },
    nudge: worker.nudge,
    status: () => ({
      name,
      lastPassAt: lastPassAt ?? lastWorkAt,
      lastDid: { ...counts } as Did,
      lastWorkAt,
      lastError: undefined,
    }),
  }
}

/** Finds out about effects that are in doubt. It leaves a provider alone that does not answer, one kind at a time. */
export function effectReconcilerService<Tx>(host: WorkersHost<Tx>, options: WorkerOptions = {}): Service | undefined {
  const surroundings = surroundingsIn(host)
  if (surroundings === undefined) return undefined
  const { everyMs } = pacedBy(options, 'effectReconciler', effectBounds.lookMs, effectBounds.doubts)
  const { calls } = host
  const reconciler = reconcilerOf<Tx>({ ...surroundings, ...(calls !== undefined && { calls }) })
  return service({
    ...host,
    name: 'effectReconciler',
    everyMs,
    async pass() {
      await host.open()
      const { looked, landed, notLanded, postponed, unresolved } = await reconciler.runOnce()
      return {
        did: did({ landed, not_landed: notLanded, put_off: postponed, left_to_operator: unresolved }),
        left: looked >= effectBounds.doubts ? 'more' : 'nothing',
      }
    },
  })
}

function surroundingsIn<Tx>({ outbox, effects, clock, chance, events, log }: WorkersHost<Tx>) {
  if (outbox === undefined || effects === undefined || effects.kinds.size === 0) return undefined
  return { store: outbox, effects, clock, chance, events, log }
}
