import type { WorkerName } from '../../src/workers/services.js'
import type { Curt, OnFailure, Order, Program } from './application.js'
import type { Told } from './client.js'
import type { SimulatedDatabase } from './database/database.js'
import type { Invariants } from './invariants.js'
import { isLasting } from './moods.js'
import type { SimulatedNode } from './node.js'
import type { Provider } from './provider.js'
import type { Reached } from './reached.js'
import type { Budget, Faults } from './world/faults.js'
import type { World } from './world/world.js'

/** What happens in a simulation, apart from when it happens and what goes wrong. */
export interface Scenario {
  readonly requests: readonly {
    readonly program: Program
    readonly order: Order
    readonly nodes: readonly number[]
    /** Who sends it, where others were left out; otherwise its place says so. */
    readonly client?: number
    /** When it is sent at the earliest: leases run out meanwhile. */
    readonly afterMs?: number
  }[]
  /** Single passes of workers that are made at some time. */
  readonly passes?: readonly { readonly worker: WorkerName; readonly node: number; readonly afterMs?: number }[]
  /** Whether the provider tells what it did, at some time, and how often. */
  readonly deliveries?: number
  /** When it does so at the earliest. */
  readonly deliveriesAfterMs?: number
  /** The nodes that it tells, one after another. Default: the first. */
  readonly deliveredAt?: readonly number[]
  /** An operator looks at the provider's ledger at some time and says what is there, and what is not. */
  readonly operators?: number
  /** When they look at the earliest. */
  readonly operatorsAfterMs?: number
  /** The node where they say it. Default: the first. */
  readonly operatorsAt?: number
  /** These say of what landed only that it did, and not with what. Default: nobody does. */
  readonly curt?: Curt
  /** Time that passes at some point: a retention, say. */
  readonly pauses?: readonly number[]
  /** When it passes at the earliest. */
  readonly pausesAfterMs?: number
  /**
   * How many statements of one kind are under way at once where each node sends them in groups. The product has two; where there
   * is one, few requests are enough for some of them to wait for each other.
   */
  readonly lanes?: 1 | 2
  /** What a duplicate gets while the first still runs at its node. Default `'reject'`. */
  readonly concurrency?: 'reject' | 'wait'
  /** What a failure means to programs that leave their calls to the engine. Default: their clients try again. */
  readonly onFailure?: OnFailure
  /** Workers that work by themselves at each node, at the intervals of the product, and the time that they have for it. */
  readonly loops?: { readonly workers: readonly WorkerName[]; readonly forMs: number }
  readonly faults: Budget
}

/** Whether something in it fails for good, or can never be found out: it takes days until somebody is told. */
export function isNeverRight({ requests }: Pick<Scenario, 'requests'>): boolean {
  return requests.some(({ program, order: { isUnmended, mood } }) => {
    return isUnmended === true || isLasting(mood) || (program === 'rides' && mood === 'ends who asks')
  })
}

export interface Simulation {
  readonly world: World
  /** What may still go wrong in it, and what did. */
  readonly faults: Faults
  readonly database: SimulatedDatabase
  readonly provider: Provider
  readonly heard: readonly Told[]
  readonly checks: Invariants
  readonly node: (index: number) => SimulatedNode
  readonly scenario: Scenario
  /** Whether all that was wanted has happened: from here on nothing goes wrong, and there is nothing to choose. */
  isRecovering(): boolean
  /** What it came by before that. */
  readonly reached: Reached
  /** All that happened, for people; nothing, unless it is told to the end. */
  story(): readonly string[]
  /** Everything that can differ between two runs of the scenario, in short. */
  digest(): string
}
