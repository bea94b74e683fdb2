import type { Engine } from '../engine/engine.js'
import type { CountedDoubts, Measured } from '../engine/measured.js'
import { type Clock, sleep } from '../kernel/clock.js'
import { isHapaxError } from '../kernel/errors.js'
import { Stopping } from '../kernel/stopping.js'
import type { Metrics } from './metrics.js'

/** Asks the store what it holds, now and then, so that a scrape costs it nothing. */
export interface Sampling {
  /** One measurement now. Never rejects: that the store did not answer is what the gauges say then. */
  sample(): Promise<void>
  /** Resolves when no measurement is under way any more. */
  stop(): Promise<void>
}

export interface SamplingHost {
  readonly measure: Engine<unknown>['measure']
  readonly clock: Clock
}

export function sampling(host: SamplingHost, metrics: Metrics, everyMs: number | undefined): Sampling {
  const stopping = new Stopping()
  let isClosed = false

  async function sample(): Promise<void> {
    try {
      const measured = await host.measure()
      if (measured === undefined) return
      metrics.storeUp.at().value = 1
      show(metrics, measured)
    } catch (error) {
      isClosed = isHapaxError(error, 'engine_closed')
      forget(metrics)
      // A closed engine has no store that could be up or down.
      if (isClosed) metrics.storeUp.clear()
      else metrics.storeUp.at().value = 0
    }
  }

  /** One measurement after another, never two at once, each within the time that a step of the store has. */
  async function run(everyMs: number): Promise<void> {
    while (!stopping.isStopped && !isClosed) {
      await sample()
      await sleep(host.clock, everyMs, stopping, 'weakly')
    }
  }

  const running = everyMs === undefined ? Promise.resolve() : run(everyMs)
  return {
    sample,
    stop() {
      stopping.stop()
      return running
    },
  }
}

function show(metrics: Metrics, { keys, inProgress, unknown, effects }: Measured): void {
  metrics.keysStored.at().value = keys
  metrics.inProgressStored.at().value = inProgress.count
  metrics.inProgressAge.at().value = inProgress.oldestMs / 1_000
  showDoubts(metrics, 'record', unknown)
  if (effects === undefined) return
  showDoubts(metrics, 'effect', effects.unknown)
  metrics.effectsWaiting.at().value = effects.waiting
  metrics.effectLag.at().value = effects.lagMs / 1_000
  metrics.deadLetters.at().value = effects.dead
}

function showDoubts(metrics: Metrics, of: 'record' | 'effect', doubts: CountedDoubts): void {
  metrics.unknownStored.at(of).value = doubts.count
  metrics.unknownAge.at(of).value = doubts.oldestMs / 1_000
  metrics.operatorQueue.at(of).value = doubts.leftToOperator
}

/** Nobody knows any more: a number that was true once would be taken for one that is. */
function forget(metrics: Metrics): void {
  const { keysStored, inProgressStored, inProgressAge, unknownStored, unknownAge, operatorQueue } = metrics
  const { effectsWaiting, effectLag, deadLetters } = metrics
  const ofRecords = [keysStored, inProgressStored, inProgressAge, unknownStored, unknownAge, operatorQueue]
  for (const gauge of [...ofRecords, effectsWaiting, effectLag, deadLetters]) gauge.clear()
}
