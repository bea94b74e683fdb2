import type { Engine } from '../../src/engine/engine.js'
import { type ServicesOptions, type WorkerName, workerNames } from '../../src/workers/services.js'
import { startWorkers } from '../../src/workers/workers.js'
import type { SimulatedTx } from './database/simulated-tx.js'
import type { Process } from './world/process.js'
import type { World } from './world/world.js'

/** Where they run and whose they are. */
interface Around {
  readonly world: World
  readonly process: Process
  readonly hapax: Engine<SimulatedTx>
}

/** These workers work by themselves at a node until it crashes. That they wait for their next pass keeps no world alive. */
export function startLoops(names: readonly WorkerName[], { world, process, hapax }: Around): void {
  const clock = world.clockOf(process)
  const weak = { ...clock, after: (ms: number, callback: () => void) => clock.after(ms, callback, 'weakly') }
  const host: Engine<SimulatedTx> = Object.create(hapax, { clock: { value: weak } })
  startWorkers({ hapax: host, ...allBut(names) })
}

function allBut(names: readonly WorkerName[]): ServicesOptions {
  return Object.fromEntries(workerNames.filter((name) => !names.includes(name)).map((name) => [name, 'off']))
}
