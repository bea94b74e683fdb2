import type { Store } from 'hapax'
import type { StoreHarness } from 'hapax/conformance'
import type { LaneOptions } from '../../src/stores/postgres/lanes.js'
import { simulatedDatabase } from '../simulation/database/database.js'
import { simulatedStore } from '../simulation/database/simulated-store.js'
import type { SimulatedTx } from '../simulation/database/simulated-tx.js'
import { happens, type PortCall, type Ports } from '../simulation/world/port-call.js'
import { newProcess, type Process } from '../simulation/world/process.js'

/** A database of its own for each case, in a world in which each call happens as soon as it can. */
export const simulatedHarness = harness('simulated', 'off')

/** The same where statements travel in groups, as those of the PostgreSQL store do. */
export const simulatedGroupsHarness = harness('simulated, with group commit', { patienceMs: 5_000 })

function harness(name: string, batching: 'off' | LaneOptions): StoreHarness<SimulatedTx> {
  return {
    name,
    lacks: {
      measure: 'gauges change nothing that a schedule could break, and are no statement of the simulation',
      audit: 'nobody operates a simulated database',
    },
    async fresh() {
      const database = simulatedDatabase()
      const world = liveWorld()
      const processes = new Map<Store<SimulatedTx>, Process>()
      let rides = 0
      return {
        async open() {
          const process = newProcess(`node ${processes.size + 1}`)
          // The suite is of the build and the store of the source, which do not know that their types are the same.
          const store = simulatedStore(database, world.ports, process, batching) as unknown as Store<SimulatedTx>
          processes.set(store, process)
          return store
        },
        setTime: async (ms) => world.setTime(ms),
        async dispose() {},
        transactions: {
          insert: (tx, text) => tx.insert('rides', `${++rides}`, text),
          count: async () => database.rows('rides').length,
        },
        async cut(store) {
          const process = processes.get(store)
          if (process !== undefined) world.cut(process)
        },
      }
    },
  }
}

/** A world without choices: each call happens in its turn, as soon as it can, at a time that somebody sets. */
interface LiveWorld {
  readonly ports: Ports
  setTime(ms: number): void
  /** Breaks the line of a process: under what is under way, every other call having happened, or else under its next call. */
  cut(process: Process): void
}

interface Waiting {
  readonly call: Pick<PortCall<unknown>, 'process' | 'isReady' | 'happen' | 'broken'>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

function liveWorld(): LiveWorld {
  let now = 0
  let waiting: Waiting[] = []
  let isRunning = false
  let cuts = 0
  const doomed = new Set<Process>()

  /** One call at a time, so that whoever it answers may go on before the next one happens. */
  function turn(): void {
    const index = waiting.findIndex(({ call }) => call.isReady?.() !== false)
    const [next] = index === -1 ? [] : waiting.splice(index, 1)
    if (next !== undefined) happens(next.call, next.resolve, next.reject)
    isRunning = waiting.length > 0
    // What is gathered for one statement leaves at the end of a turn, and who waits for a lock waits for somebody else.
    if (isRunning) setImmediate(turn)
  }

  return {
    ports: {
      now: () => now,
      call<T>(call: PortCall<T>) {
        if (doomed.delete(call.process) && call.broken !== undefined) return Promise.reject(call.broken())
        return new Promise<T>((resolve, reject) => {
          waiting.push({ call, resolve: resolve as Waiting['resolve'], reject })
          if (!isRunning) setImmediate(turn)
          isRunning = true
        })
      },
    },
    setTime(ms) {
      now = ms
    },
    cut(process) {
      const cutOff = waiting.filter(({ call }) => call.process === process)
      waiting = waiting.filter(({ call }) => call.process !== process)
      if (cutOff.length === 0) doomed.add(process)
      for (const { call, reject } of cutOff) {
        if (cuts++ % 2 === 0 && call.isReady?.() !== false) call.happen()
        if (call.broken !== undefined) reject(call.broken())
      }
    },
  }
}
