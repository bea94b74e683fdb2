import type { Ending } from '../effects/carrying.js'
import { sleep } from '../kernel/clock.js'
import { defaults } from '../kernel/limits.js'
import { Stopping } from '../kernel/stopping.js'
import type { WorkersHost } from './host.js'
import { refuse } from './options.js'
import type { Did, WorkerStatus } from './passes.js'
import type { Service } from './service.js'
import { type NamedServices, type ServicesOptions, servicesOf, type WorkerName } from './services.js'

export interface WorkersOptions<Tx> extends ServicesOptions {
  /** The engine that they work for. Stop them before you close it. */
  readonly hapax: WorkersHost<Tx>
}

/** What one worker did in one pass, or why it could not. */
export type WorkDone =
  | { readonly name: WorkerName | 'ledger'; readonly did: Did }
  | { readonly name: WorkerName | 'ledger'; readonly error: unknown }

export interface Workers {
  /** Each worker makes one pass now, besides those that it makes by itself. */
  runOnce(): Promise<readonly WorkDone[]>
  /** Says that there may be something to do, for all of them. */
  nudge(): void
  /**
   * Carries out this one effect, due or not, for whoever it was handed over to: the consumer of a queue, say. `busy`: it is
   * not to be had. Needs the worker of effects.
   */
  carryOut(effectId: number): Promise<Ending | 'busy'>
  /** The last that is known of each. */
  status(): readonly WorkerStatus[]
  /**
   * Takes no new work, gives back what has not begun, and resolves when what runs has finished, or after a bound: then it
   * is left to its lease. Calling it again waits for the same end.
   */
  stop(): Promise<void>
}

/**
 * Starts the workers that keep the promises of an engine. Every node may run all of them at once.
 *
 * @example
 * const workers = startWorkers({ hapax })
 * process.once('SIGTERM', async () => {
 *   await workers.stop()
 *   await hapax.close()
 * })
 */
export function startWorkers<Tx>({ hapax, ...options }: WorkersOptions<Tx>): Workers {
  const services = servicesOf(hapax, options)
  const all = Object.values(services)
  const stopping = new AbortController()
  const deaf = nudging(hapax, services)
  const runs = all.map(({ run }) => run(stopping.signal))
  let stopped: Promise<void> | undefined

  async function stop(): Promise<void> {
    for (const stopHearing of deaf) stopHearing()
    stopping.abort()
    const enough = new Stopping()
    const bound = sleep(hapax.clock, defaults.drainMs + defaults.lastWordsMs, enough)
    await Promise.race([Promise.all(runs), bound])
    enough.stop()
  }

  return {
    runOnce: () => once(all),
    nudge() {
      for (const { nudge } of all) nudge()
    },
    async carryOut(effectId) {
      const { effects } = services
      if (effects === undefined) refuse('carryOut() needs the worker of effects, and an engine that has effects.')
      return effects.carryOut(effectId)
    },
    status: () => all.map(({ status }) => status()),
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

/**
 * One pass of each worker, one after another, in the order in which their work follows from each other: for cron, and for
 * tests.
 *
 * @example
 * for (const { name, ...done } of await workOnce({ hapax })) console.log(name, done)
 */
export function workOnce<Tx>({ hapax, ...options }: WorkersOptions<Tx>): Promise<readonly WorkDone[]> {
  return once(Object.values(servicesOf(hapax, options)))
}

/** One that fails keeps no other from its pass. */
async function once(services: readonly Service[]): Promise<readonly WorkDone[]> {
  const done: WorkDone[] = []
  for (const { name, runOnce } of services) {
    const came = await runOnce().then(
      ({ did }) => ({ did }),
      (error: unknown) => ({ error }),
    )
    done.push({ name: name as WorkDone['name'], ...came })
  }
  return done
}

/** What is told in this process need not wait for a poll. Polling stays the truth: other processes are not heard. */
function nudging<Tx>(hapax: WorkersHost<Tx>, services: NamedServices): readonly (() => void)[] {
  const { resumer, reconciler, effects, effectReconciler } = services
  return [
    hapax.on('doubted', () => reconciler?.nudge()),
    hapax.on('swept', () => reconciler?.nudge()),
    // What evidence has settled may go on at once. What failed is put off anyway, and needs no nudge.
    hapax.on('settled', () => resumer?.nudge()),
    hapax.on('effects_written', () => effects?.nudge()),
    hapax.on('effect_doubted', () => effectReconciler?.nudge()),
    hapax.on('effect_reconciled', () => effects?.nudge()),
  ]
}
