import { type OnFailure, type Order, type Program, timeoutMs, type Unkept } from './application.js'
import type { Scenario } from './scenario.js'

type Fraction = () => number
type Orders = (order: Order, fraction: Fraction) => Order

/** A scenario with something in it that few have, or as it is: one thing at a time, so that each is met with all else. */
export function rarely(scenario: Scenario, fraction: Fraction): Scenario {
  const chance = fraction()
  if (chance < 0.06) return withOrders(scenario, fraction, withFee)
  if (chance < 0.09) return withOrders(scenario, fraction, inCapitals)
  if (chance < 0.12) return withOrders(scenario, fraction, inNeedOfCare)
  if (chance < 0.17) return failing(scenario, fraction, 'store')
  if (chance < 0.19) return failing(scenario, fraction, 'release')
  if (chance < 0.2) return shortlyBefore(scenario, fraction)
  if (chance < 0.22) return unkept(scenario, fraction() < 0.5 ? 'too long' : 'no JSON')
  if (chance < 0.23) return inNoJson(scenario)
  return scenario
}

function withOrders(scenario: Scenario, fraction: Fraction, as: Orders): Scenario {
  const requests = scenario.requests.map((request) => ({ ...request, order: as(request.order, fraction) }))
  return { ...scenario, requests }
}

const withFee: Orders = (order) => ({ ...order, hasFee: true })

/** Two keys that differ in this alone are two. */
const inCapitals: Orders = (order, fraction) => (fraction() < 0.5 ? { ...order, key: order.key.toUpperCase() } : order)

/** What a careless scope would take for one of the others. */
const inNeedOfCare: Orders = (order) => ({ ...order, tenant: careful[order.tenant] ?? order.tenant })

const careful: Readonly<Record<string, string>> = {
  acme: 'acme;principal=ann',
  globex: 'acme%3Bprincipal%3Dann',
  initech: 'acme%253Bprincipal%253Dann',
}

/** Failures that are answers, or leave nothing: of handlers that fail, and of those that hide what has failed. */
function failing(scenario: Scenario, fraction: Fraction, onFailure: OnFailure): Scenario {
  const fails = fraction() < 0.5 ? ('throws' as const) : ('answers' as const)
  const isHushedUp = fraction() < 0.5
  const as: Orders = (order) => (isHushedUp ? { ...order, isHushedUp } : { ...order, fails: order.fails ?? fails })
  return { ...withOrders(scenario, fraction, as), onFailure }
}

const day = 24 * 60 * 60_000

/** Workers come shortly before a provider that honours keys for a day forgets them, to what a crash has left behind. */
function shortlyBefore(scenario: Scenario, fraction: Fraction): Scenario {
  const { requests, faults } = scenario
  if (requests.every(({ program }) => program !== 'rides')) return scenario
  const afterMs = day - (fraction() < 0.5 ? 1_000 : timeoutMs)
  const node = Math.floor(fraction() * 3)
  const late = (['resumer', 'effects'] as const).map((worker) => ({ worker, node, afterMs }))
  const { crashes = 0, breaks = 0, drifts = 0 } = faults
  return {
    ...scenario,
    // Whoever else came before would leave them nothing.
    passes: [{ worker: 'effects', node: 0, afterMs: 1 }, { worker: 'effects', node: 1, afterMs: 1 }, ...late],
    faults: { ...faults, crashes: crashes + 1, breaks: breaks + 1, drifts: drifts + 1 },
  }
}

/** These return what they answer, and do not commit it. */
const returning: ReadonlySet<Program> = new Set<Program>(['plain', 'deposits', 'letters'])

/** Answers that cannot be kept: of a request that has them nothing runs again either. */
function unkept(scenario: Scenario, how: Unkept): Scenario {
  const requests = scenario.requests.map((request) => {
    const { program, order } = request
    return { ...request, order: { ...order, unkept: returning.has(program) ? how : ('too long' as const) } }
  })
  return { ...scenario, requests }
}

/** Of these a lookup says later what their provider has said in vain. */
const lookedUp: ReadonlySet<Program> = new Set<Program>(['transfers', 'sales'])

/** Results of calls and of effects that cannot be kept. */
function inNoJson(scenario: Scenario): Scenario {
  const requests = scenario.requests.map((request) => {
    const { program, order } = request
    return lookedUp.has(program) ? { ...request, order: { ...order, mood: 'answers in no JSON' as const } } : request
  })
  return { ...scenario, requests, passes: [...(scenario.passes ?? []), { worker: 'effects', node: 0, afterMs: 1 }] }
}
