import type { WorkerName } from '../../../src/workers/services.js'
import type { Program } from '../application.js'
import type { Feature } from '../reached.js'
import type { Scenario } from '../scenario.js'

/** A small scenario of which every schedule is run. */
export interface Case {
  readonly name: string
  readonly scenario: Scenario
  /** What it is about: if no schedule of it gets there while something can go wrong, it shows nothing, and fails. */
  readonly reaches: readonly Feature[]
}

export const hour = 3_600_000

/** Shortly before a provider that honours keys for a day forgets one: a request that is on its way for long arrives when it has. */
export const nearlyADay = 24 * hour - 1_000

/** When the lease of whoever crashed at the start is over, and so what it left behind is found. */
export const late = 31_000

/** What it leads to waits for nobody. */
export const unordered = { tenant: 'acme', key: 'k1', amount: 1 }

export const order = { ...unordered, item: 'boat' }

export const request = (program: Program, node = 0, afterMs?: number) => ({
  ...{ program, order, nodes: [node] },
  ...(afterMs !== undefined && { afterMs }),
})

export const pass = (worker: WorkerName, afterMs: number, node = 1) => ({ worker, node, afterMs })

/** Once there is nothing else to do: who carries out what a request has written has nothing to do before. */
export const soon = (worker: WorkerName, node = 1) => pass(worker, 1, node)
