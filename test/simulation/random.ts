import { workerNames } from '../../src/workers/services.js'
import { type Order, type Program, programs } from './application.js'
import type { Schedule } from './running.js'
import type { Scenario } from './scenario.js'
import { simulation } from './simulation.js'
import { byChance, type Choice, following, seeded } from './world/choices.js'

const tenants = ['acme', 'globex', 'initech']

/** The scenario of a seed: from one request that nothing happens to, to eight of three tenants and everything that can go wrong. */
export function scenarioOf(seed: number): Scenario {
  const fraction = seeded(seed ^ 0x5eed)
  const upTo = (most: number) => Math.floor(fraction() * (most + 1))
  /** Small numbers are as interesting as large ones, and much quicker. */
  const mostly = (most: number) => upTo(upTo(most))
  const rarely = (most: number) => upTo(mostly(most))
  const oneOf = <T>(all: readonly T[]): T => all[upTo(all.length - 1)] as T
  /** Within a lease, after one, and after whoever was stopped goes on. */
  const later = () => (fraction() < 0.6 ? {} : { afterMs: oneOf([5_000, 31_000, 45_000, 61_000]) })
  const nodes = 1 + mostly(2)
  const keys = 1 + rarely(2)
  const among = 1 + rarely(2)
  // Requests with one key are of one kind, as those of one client would be; a few are something else by mistake.
  const kinds = new Map<string, Program>()
  const requests = Array.from({ length: 1 + rarely(7) }, () => {
    const tenant = oneOf(tenants.slice(0, among))
    const key = `k${1 + upTo(keys - 1)}`
    const program = kinds.get(`${tenant} ${key}`) ?? oneOf(programs)
    kinds.set(`${tenant} ${key}`, program)
    const amount = fraction() < 0.1 ? 2 : program === 'rides' && key === 'k2' ? -1 : 1
    const order: Order = { tenant, key, amount, item: 'boat' }
    return { program, order, nodes: Array.from({ length: 1 + mostly(2) }, () => upTo(nodes - 1)), ...later() }
  })
  return {
    requests,
    passes: Array.from({ length: rarely(6) }, () => ({
      worker: oneOf(workerNames),
      node: upTo(nodes - 1),
      ...later(),
    })),
    deliveries: rarely(2),
    operators: rarely(1),
    pauses: fraction() < 0.05 ? [oneOf([60_000, 3_600_000, 25 * 3_600_000])] : [],
    faults: {
      breaks: mostly(4),
      crashes: mostly(3),
      lateness: mostly(2),
      freezes: mostly(1),
      jumps: mostly(1),
      haste: mostly(3),
    },
  }
}

/** One schedule of a seed: the same on every machine. */
export function scheduleOf(seed: number): Schedule {
  const choices: Choice[] = []
  return { simulation: simulation(scenarioOf(seed), following([], byChance(seeded(seed), 0.15), choices)), choices }
}
