import { claimed, completion, keys, reservation } from '../../src/conformance/given.js'
import type { IdempotencyKey } from '../../src/engine/key.js'
import type { Claim } from '../../src/engine/record.js'
import type { SingleStep, Step } from '../../src/engine/store.js'
import { type SimulatedDatabase, simulatedDatabase } from './database/database.js'
import { type SimulatedStore, simulatedStore } from './database/simulated-store.js'
import { type HeldWorld, heldWorld } from './held-world.js'
import { newProcess, type Process } from './world/process.js'

/** Two nodes on one simulated database, in a world where a test says what happens. */
export interface HeldDatabase {
  readonly world: HeldWorld
  readonly database: SimulatedDatabase
  readonly process: Process
  readonly one: SimulatedStore
  readonly two: SimulatedStore
  /** Lets all of it happen. */
  through<T>(work: Promise<T>): Promise<T>
  /** Node 1 takes the key. */
  claim(): Promise<Claim>
  /** A transaction of node 1 that has inserted a row, and written its record where it is told to. */
  openTransaction(
    held: Claim,
    upTo: 'rows' | 'record',
    step?: Step<string>,
  ): Promise<{ readonly running: Promise<unknown> }>
}

const [k1, other] = keys(2) as readonly [IdempotencyKey, IdempotencyKey]
export const k2 = other
export const name = `acme/${k1}`
export const asked = () => reservation({ key: k1 })
export const completing: Step<string> = { value: 'the value', write: { kind: 'complete', ...completion() } }
export const keeping: SingleStep<string> = { value: 'the value', rows: 'keep', completion: completion() }

export function heldDatabase(): HeldDatabase {
  const world = heldWorld()
  const database = simulatedDatabase()
  const process = newProcess('node 1')
  const one = simulatedStore(database, world.ports, process)
  const two = simulatedStore(database, world.ports, newProcess('node 2'))
  const through = async <T>(work: Promise<T>) => {
    work.catch(() => undefined)
    await world.goOn()
    return work
  }
  return {
    world,
    database,
    process,
    one,
    two,
    through,
    claim: () => through(claimed(one, { key: k1 })),
    async openTransaction(held, upTo, step = completing) {
      const running = one.transaction(held, async (tx) => {
        await tx.insert('rides', 'r1')
        return step
      })
      running.catch(() => undefined)
      await world.happen('node 1 inserts r1 into rides')
      if (upTo === 'record') await world.happen(`node 1 writes ${name} and its effects`)
      return { running }
    },
  }
}
