import { type WorkerName, workerNames } from '../../src/workers/services.js'
import { callingAlone, type Failure, type Order, type Program, programs } from './application.js'
import { misspellings } from './misspelt.js'
import { type Mood, moods, triedMs } from './moods.js'
import { rarely } from './rarities.js'
import type { Schedule } from './running.js'
import type { Scenario } from './scenario.js'
import { simulation, type Watching } from './simulation.js'
import { byChance, type Choice, following, seeded } from './world/choices.js'

const tenants = ['acme', 'globex', 'initech']
const hour = 3_600_000
const day = 24 * hour

/** After leases, timeouts and each other: the passes of workers that find what a crash has left behind, one after another. */
const afterLeases = [31_000, 45_000, 61_000, 75_000, 90_000, 120_000]

/**
 * The scenario of a seed. Nearly half are small, from one request that nothing happens to; a third have crashes and workers that
 * come when leases are over, so that what they do goes wrong as well; and a fifth are large, with up to eight requests of three
 * tenants on three nodes.
 */
export function scenarioOf(seed: number): Scenario {
  const fraction = seeded(seed ^ 0x5eed)
  const flavour = fraction()
  const usual =
    flavour < 0.35
      ? recovering(fraction, flavour < 0.06 ? { isHushedUp: true } : {})
      : various(fraction, flavour < 0.55 ? 'large' : 'small')
  // By draws of their own: what is rare changes no other scenario.
  const drawn = rarely(usual, seeded(seed ^ 0x0dd5))
  const met = moody(drawn, seeded(seed ^ 0x3005))
  const looped = looping(elsewhere(met, seeded(seed ^ 0xe15e)), seeded(seed ^ 0x100b))
  return curt(neverRight(looped, seeded(seed ^ 0x4e4e)), seeded(seed ^ 0xc047))
}

/** In a few, who says that something landed does not say with what. */
function curt(scenario: Scenario, fraction: Fraction): Scenario {
  const { deliveries = 0, operators = 0, loops } = scenario
  if (fraction() >= 0.03 || loops !== undefined) return scenario
  if (fraction() < 0.5) return toldCurtly(scenario)
  const isTold = deliveries + operators > 0
  return isTold ? { ...scenario, curt: fraction() < 0.5 ? 'webhooks' : 'operators' } : scenario
}

/** Of whom nobody needs to know what he gave, and those who deny what they did: there it matters most often. */
const curtOf: Partial<Readonly<Record<Program, Pick<Order, 'needsNoResult' | 'mood'>>>> = {
  letters: { needsNoResult: true },
  transfers: { mood: 'denies' },
  sales: { mood: 'denies' },
}

/** Somebody looks, and goes on, before the webhook comes and after it. */
function toldCurtly(scenario: Scenario): Scenario {
  const first = scenario.requests.find(({ program }) => program in curtOf)
  if (first === undefined) return scenario
  const sameKey = scenario.requests.filter(({ order }) => order.key === first.order.key)
  const requests = sameKey.map((asking) => {
    // What is hidden would look like what is not needed.
    const isMet = asking.program === first.program && !asking.order.isHushedUp
    return isMet ? { ...asking, order: { ...asking.order, ...curtOf[first.program] } } : asking
  })
  const [carries, looks, goesOn] =
    first.program === 'sales'
      ? (['effects', 'effectReconciler', 'effects'] as const)
      : (['sweeper', 'reconciler', 'resumer'] as const)
  const coming = [
    { worker: carries, afterMs: 1 },
    { worker: looks, afterMs: 14_000 },
    { worker: goesOn, afterMs: 16_000 },
    { worker: looks, afterMs: 32_000 },
    { worker: goesOn, afterMs: 45_000 },
  ]
  const passes = [...(scenario.passes ?? []), ...coming.map((pass) => ({ ...pass, node: 0 }))]
  const faults = { ...scenario.faults, breaks: 3, drifts: 1 }
  const told = { deliveries: 1, deliveriesAfterMs: 15_000, curt: 'webhooks' } as const
  return { ...scenario, requests, passes, ...told, faults }
}

/** In half of them the provider tells any node, and operators say at any node what they see. */
function elsewhere(scenario: Scenario, fraction: Fraction): Scenario {
  const { deliveries = 0, operators = 0 } = scenario
  if ((deliveries === 0 && operators === 0) || fraction() < 0.5) return scenario
  const anywhere = () => Math.floor(fraction() * 3)
  return { ...scenario, deliveredAt: [anywhere(), anywhere()], operatorsAt: anywhere() }
}

/** In a few, workers work by themselves, which takes as long as a hundred others: where it lasts for minutes, and no longer. */
function looping(scenario: Scenario, fraction: Fraction): Scenario {
  if (fraction() >= 0.0015) return scenario
  const { requests, deliveriesAfterMs = 0, operatorsAfterMs = 0, pauses = [] } = scenario
  const longestMs = Math.max(deliveriesAfterMs, operatorsAfterMs, ...requests.map(({ afterMs = 0 }) => afterMs))
  if (longestMs > 61_000 || pauses.length > 0) return scenario
  const forMs = 5_000 + Math.floor(fraction() * 40_000)
  return { ...scenario, passes: [], loops: { workers: workerNames, forMs } }
}

/** Of whom a handler asks for a transfer only the lookup has any. What shows only in a doubt is drawn more often. */
const moodsOf: Partial<Readonly<Record<Program, readonly Mood[]>>> = {
  sales: [...moods, 'cannot say', 'cannot say', 'cannot be asked', 'cannot be asked'],
  transfers: ['cannot say', 'denies'],
}

/** Sometimes whoever ships what the first one ordered, or is asked for its transfer, has a mood. */
function moody(scenario: Scenario, fraction: Fraction): Scenario {
  if (fraction() >= 0.15) return scenario
  const draw = fraction()
  const moodOf = (program: Program): Mood | undefined => {
    const all = moodsOf[program] ?? []
    return all[Math.floor(draw * all.length)]
  }
  const key = scenario.requests[0]?.order.key
  const requests = scenario.requests.map((asking) => {
    const mood = asking.order.key === key ? moodOf(asking.program) : undefined
    return mood === undefined ? asking : { ...asking, order: { ...asking.order, mood } }
  })
  if (requests.every(({ order }) => order.mood === undefined)) return scenario
  // Who carries it out comes, and who asks about it: without them it would seldom be met in its mood.
  const afterMs = Math.floor(fraction() * 45_000)
  const passes = [
    ...(scenario.passes ?? []),
    { worker: 'effects' as const, node: 0, afterMs: 1 },
    ...(fraction() < 0.1 ? [{ worker: 'effects' as const, node: 1, afterMs: triedMs }] : []),
    { worker: 'effectReconciler' as const, node: 0, afterMs },
  ]
  const { breaks = 0, drifts = 0 } = scenario.faults
  return { ...scenario, requests, passes, faults: { ...scenario.faults, breaks: breaks + 1, drifts: drifts + 1 } }
}

/** What never comes right, and how: whoever goes on by himself with it is a worker. */
const lastingOf: Partial<Readonly<Record<Program, readonly Pick<Order, 'fails' | 'isUnmended' | 'mood'>[]>>> = {
  rides: [{ fails: 'throws', isUnmended: true }, { fails: 'answers', isUnmended: true }, { mood: 'ends who asks' }],
  transfers: [{ fails: 'throws', isUnmended: true }, { mood: 'never says' }, { mood: 'never answers' }],
  letters: [
    { fails: 'throws', isUnmended: true },
    { fails: 'answers', isUnmended: true },
  ],
  sales: [{ mood: 'never says' }, { mood: 'never answers' }],
}

/** In one of a hundred something never comes right: until somebody is told of it takes days, and as long as a few others. */
function neverRight(scenario: Scenario, fraction: Fraction): Scenario {
  if (fraction() >= 0.01 || scenario.loops !== undefined) return scenario
  // One without a key is known by none until it has arrived.
  const all = scenario.requests.filter(({ program, order }) => program in lastingOf && !order.isKeyless)
  // Effects are in doubt least often.
  const first = all.find(({ program }) => program === 'sales') ?? all[0]
  if (first === undefined) return scenario
  const ways = lastingOf[first.program] ?? []
  const how = ways[Math.floor(fraction() * ways.length)]
  const isMet = ({ program, order }: typeof first) =>
    program === first.program && order.key === first.order.key && !order.isKeyless
  // Who ends every process that asks him would end those that others ask, too, whenever they come.
  if (how?.mood === 'ends who asks' && !scenario.requests.every(isMet)) return scenario
  const requests = scenario.requests.map((asking) =>
    isMet(asking) ? { ...asking, order: { ...asking.order, ...how } } : asking,
  )
  const passes = [...(scenario.passes ?? []), { worker: 'effects' as const, node: 0, afterMs: 1 }]
  const { breaks = 0, drifts = 0 } = scenario.faults
  return { ...scenario, requests, passes, faults: { ...scenario.faults, breaks: breaks + 2, drifts: drifts + 1 } }
}

type Fraction = () => number

/** What is asked for under a key: of two of them the same, so that one is shipped after the other. */
const itemOf = (key: string) => (key === 'k3' ? 'car' : 'boat')

/** One key or two, and all who come to its help, while things still go wrong. */
function recovering(fraction: Fraction, how: Pick<Order, 'isHushedUp'>): Scenario {
  const upTo = (most: number) => Math.floor(fraction() * (most + 1))
  const oneOf = <T>(all: readonly T[]): T => all[upTo(all.length - 1)] as T
  const [program, key] = [oneOf(programs), `k${1 + upTo(1)}`]
  const fails = fraction() < 0.15 ? { fails: oneOf(failuresOf(program)) } : {}
  const order: Order = { tenant: 'acme', key, amount: 1, item: 'boat', ...how, ...fails }
  const another = { ...order, key: 'k3', item: oneOf(['boat', 'car']) }
  const later = () => oneOf(afterLeases)
  const workers = workerNames.filter((worker) => worker !== 'reaper' && fraction() < 0.7)
  return {
    requests: [
      { program, order, nodes: [0] },
      ...(fraction() < 0.4 ? [{ program, order, nodes: [1 + upTo(1)], afterMs: later() }] : []),
      ...(fraction() < 0.3 ? [{ program, order: another, nodes: [upTo(1)] }] : []),
    ],
    passes: [
      ...(fraction() < 0.5 ? [{ worker: 'effects' as const, node: 0, afterMs: 1 }] : []),
      ...workers.map((worker) => ({ worker, node: upTo(2), afterMs: later() })),
    ],
    deliveries: upTo(1),
    ...(fraction() < 0.5 && { deliveriesAfterMs: later() }),
    operators: upTo(1),
    operatorsAfterMs: oneOf([5_000, ...afterLeases]),
    ...(fraction() < 0.2 && { lanes: 1 }),
    faults: {
      breaks: upTo(1),
      drifts: upTo(1),
      crashes: upTo(2),
      lateness: upTo(1),
      freezes: upTo(2),
      jumps: upTo(1),
      haste: upTo(1),
    },
  }
}

/** How long a scenario lasts: when things happen in it at the earliest, and what may. */
interface Length {
  readonly isLong: boolean
  readonly times: readonly number[]
  readonly programs: readonly Program[]
  readonly workers: readonly WorkerName[]
}

/** Within a lease, after one, and after whoever was stopped goes on. */
const minutes: Length = { isLong: false, times: [5_000, 31_000, 45_000, 61_000], programs, workers: workerNames }

/** After the retention: the reaper comes upon what is over, upon what has effects to carry out, and upon what is half-done. */
const days: Length = {
  isLong: true,
  times: [25 * hour, 25 * hour + 1, 49 * hour],
  programs: ['sales', 'rides', 'transfers', 'deposits'],
  workers: ['reaper', 'reaper', 'effects', 'effectReconciler', 'sweeper', 'resumer'],
}

/**
 * After the tombstone: keys expire, are buried and are forgotten for good. Of rows and of what a provider keeps for ever nobody
 * says then whose they are: the application that has neither is asked.
 */
const month: Length = {
  isLong: true,
  times: [25 * hour, 25 * hour + 1, 32 * day, 32 * day + 1],
  programs: ['plain'],
  workers: ['sweeper', 'reaper'],
}

function lengthOf(chance: number): Length {
  if (chance < 0.03) return month
  return chance < 0.06 ? days : minutes
}

/** Who leaves all calls to the engine has no doubts of his own. */
function failuresOf(program: Program): readonly Failure[] {
  return callingAlone.has(program) ? ['throws', 'answers', 'doubts'] : ['throws', 'answers']
}

const mayDecline: ReadonlySet<Program> = new Set<Program>(['rides', 'sales'])

function various(fraction: Fraction, size: 'small' | 'large'): Scenario {
  const upTo = (most: number) => Math.floor(fraction() * (most + 1))
  /** Small numbers are as interesting as large ones, and much quicker. */
  const mostly = (most: number) => upTo(upTo(most))
  const rarely = (most: number) => upTo(mostly(most))
  const oneOf = <T>(all: readonly T[]): T => all[upTo(all.length - 1)] as T
  const length = lengthOf(fraction())
  const { times } = length
  const isLarge = size === 'large'
  // Every lane of a node is busy, and then others have to wait for it: where there is one, few requests are enough.
  const lanes = fraction() < 0.25 ? oneOf([1, 1, 1, 1, 1, 1, 1, 2] as const) : undefined
  // Two take many, at one node, all at once, and of several keys: no statement has two of the same.
  const isCrowd = lanes === 2
  const later = () => (fraction() < (lanes === undefined ? 0.6 : 0.8) ? {} : { afterMs: oneOf(times) })
  const nodes = 1 + (isCrowd ? 0 : isLarge ? 1 + upTo(1) : lanes !== undefined ? rarely(1) : mostly(2))
  const keys = 1 + (isCrowd ? 2 : isLarge ? upTo(2) : rarely(2))
  const among = 1 + (isCrowd ? 2 : isLarge ? 1 + upTo(1) : rarely(2))
  // Requests with one key are of one kind, as those of one client would be; a few are something else by mistake, or ask for it
  // elsewhere.
  const kinds = new Map<string, Program>()
  const count = isCrowd || isLarge ? 5 + upTo(3) : Math.min(8, (lanes ?? 0) + 1 + rarely(7))
  const requests = Array.from({ length: count }, () => {
    const tenant = oneOf(tenants.slice(0, among))
    const key = `k${1 + upTo(keys - 1)}`
    const usual = kinds.get(`${tenant} ${key}`) ?? oneOf(length.programs)
    kinds.set(`${tenant} ${key}`, usual)
    const program = fraction() < 0.03 ? oneOf(length.programs) : usual
    const amount = fraction() < 0.1 ? 2 : mayDecline.has(program) && key === 'k2' ? -1 : 1
    const keyless = fraction() < 0.05 ? ({ isKeyless: true } as const) : {}
    const misspelt = fraction() < 0.02 ? { misspelt: oneOf(misspellings) } : {}
    const fails = fraction() < 0.05 ? { fails: oneOf(failuresOf(program)) } : {}
    const order: Order = { tenant, key, amount, item: itemOf(key), ...keyless, ...misspelt, ...fails }
    return {
      program,
      order,
      nodes: Array.from({ length: isCrowd ? 1 : 1 + mostly(2) }, () => upTo(nodes - 1)),
      ...(isCrowd ? {} : later()),
    }
  })
  return {
    requests,
    passes: Array.from({ length: length.isLong || isLarge ? upTo(6) : rarely(6) }, () => ({
      worker: oneOf(length.workers),
      node: upTo(nodes - 1),
      ...later(),
    })),
    deliveries: rarely(2),
    operators: isLarge ? upTo(1) : rarely(1),
    ...(lanes !== undefined && { lanes }),
    ...(fraction() < 0.15 && { concurrency: 'wait' as const }),
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
export function scheduleOf(seed: number, watching?: Watching): Schedule {
  const choices: Choice[] = []
  const chooser = following([], byChance(seeded(seed), 0.15), choices)
  return { simulation: simulation(scenarioOf(seed), chooser, watching), choices }
}
