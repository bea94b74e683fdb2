import { workerNames } from '../../src/workers/services.js'
import { type Order, type Program, programs } from './application.js'
import type { Schedule } from './running.js'
import type { Scenario } from './scenario.js'
import { simulation } from './simulation.js'
import { byChance, type Choice, following, seeded } from './world/choices.js'

const tenants = ['acme', 'globex', 'initech']
const hour = 3_600_000
const day = 24 * hour

/** The scenario of a seed: from one request that nothing happens to, to eight of three tenants and everything that can go wrong. */
export function scenarioOf(seed: number): Scenario {
  const fraction = seeded(seed ^ 0x5eed)
  const upTo = (most: number) => Math.floor(fraction() * (most + 1))
  /** Small numbers are as interesting as large ones, and much quicker. */
  const mostly = (most: number) => upTo(upTo(most))
  const rarely = (most: number) => upTo(mostly(most))
  const oneOf = <T>(all: readonly T[]): T => all[upTo(all.length - 1)] as T
  // A few last for so long that keys expire, are buried and are forgotten for good. Of rows and of what a provider keeps for
  // ever nobody says then whose they are: the application that has neither is asked.
  const isLong = fraction() < 0.03
  /** Within a lease, after one, and after whoever was stopped goes on; or after the retention, and after the tombstone. */
  const times = isLong ? [25 * hour, 25 * hour + 1, 32 * day, 32 * day + 1] : [5_000, 31_000, 45_000, 61_000]
  const later = () => (fraction() < 0.6 ? {} : { afterMs: oneOf(times) })
  const nodes = 1 + mostly(2)
  const keys = 1 + rarely(2)
  const among = 1 + rarely(2)
  // Requests with one key are of one kind, as those of one client would be; a few are something else by mistake.
  const kinds = new Map<string, Program>()
  const requests = Array.from({ length: 1 + rarely(7) }, () => {
    const tenant = oneOf(tenants.slice(0, among))
    const key = `k${1 + upTo(keys - 1)}`
    const program = kinds.get(`${tenant} ${key}`) ?? oneOf(isLong ? (['plain'] as const) : programs)
    kinds.set(`${tenant} ${key}`, program)
    const amount = fraction() < 0.1 ? 2 : program === 'rides' && key === 'k2' ? -1 : 1
    const keyless = fraction() < 0.05 ? ({ isKeyless: true } as const) : {}
    const order: Order = { tenant, key, amount, item: 'boat', ...keyless }
    return { program, order, nodes: Array.from({ length: 1 + mostly(2) }, () => upTo(nodes - 1)), ...later() }
  })
  const isBatching = fraction() < 0.25
  return {
    requests,
    passes: Array.from({ length: isLong ? upTo(6) : rarely(6) }, () => ({
      worker: oneOf(isLong ? (['sweeper', 'reaper'] as const) : workerNames),
      node: upTo(nodes - 1),
      ...later(),
    })),
    deliveries: rarely(2),
    operators: rarely(1),
    ...(isBatching && { batching: 'on' }),
    pauses: fraction() < 0.05 ? [oneOf([60_000, hour, 25 * hour])] : [],
    faults: {
      breaks: mostly(4),
      drifts: mostly(2),
      cancels: mostly(2),
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
