import { run } from './running.js'
import type { Scenario } from './scenario.js'
import { simulation } from './simulation.js'
import { type Choice, following, usual } from './world/choices.js'

/** A schedule that breaks a promise, as short as could be found. */
export interface Shrunk {
  readonly scenario: Scenario
  readonly list: readonly number[]
  readonly error: unknown
  readonly trace: readonly string[]
}

export interface Shrinking {
  /** As the schedule was run that failed: who remembers has other choices. */
  readonly memory?: 'remembers'
  readonly mostRuns?: number
}

/**
 * Makes a failure easier to read: leaves out what the scenario can do without, and takes back one choice after another to
 * what usually happens, as long as the same promise is still broken: a shorter schedule that breaks another one tells of that.
 */
export async function shrunk(
  scenario: Scenario,
  list: readonly number[],
  { memory, mostRuns = 400 }: Shrinking = {},
): Promise<Shrunk> {
  let best = { scenario, list, ...(await tried(scenario, list, memory)) }
  if (best.error === undefined) throw new Error('The list of choices does not lead to what was found.')
  const broken = promiseIn(best.error)
  let runs = 0
  const better = async (candidate: { readonly scenario: Scenario; readonly list: readonly number[] }) => {
    runs++
    const came = await tried(candidate.scenario, candidate.list, memory)
    if (came.error === undefined || promiseIn(came.error) !== broken) return false
    best = { ...candidate, ...came }
    return true
  }
  for (let isBetter = true; isBetter && runs < mostRuns; ) {
    isBetter = false
    for (const smaller of smallerThan(best.scenario))
      if (runs < mostRuns && (await better({ scenario: smaller, list: best.list }))) isBetter = true
    for (let index = best.list.length - 1; index >= 0 && runs < mostRuns; index--) {
      if (best.list[index] === 0) continue
      const list = best.list.map((taken, at) => (at === index ? 0 : taken))
      if (await better({ scenario: best.scenario, list })) isBetter = true
    }
  }
  return best
}

/** Which promise was broken: the words without the names and numbers in them. */
function promiseIn(error: unknown): string {
  return String(error instanceof Error ? error.message : error).replaceAll(/\S*[\d/]\S*/g, '…')
}

async function tried(scenario: Scenario, list: readonly number[], memory: Shrinking['memory']) {
  const choices: Choice[] = []
  const { error, simulation: made } = await run({
    simulation: simulation(scenario, following(list, usual, choices), memory),
    choices,
  })
  return { error, trace: made.world.trace.map((words) => words()) }
}

/** The same with one thing less. */
function* smallerThan(scenario: Scenario): Generator<Scenario> {
  const { requests, passes = [], deliveries = 0, operators = 0, pauses = [] } = scenario
  const without = <T>(all: readonly T[], index: number) => all.toSpliced(index, 1)
  for (const index of requests.keys())
    if (requests.length > 1) yield { ...scenario, requests: without(requests, index) }
  for (const index of passes.keys()) yield { ...scenario, passes: without(passes, index) }
  for (const index of pauses.keys()) yield { ...scenario, pauses: without(pauses, index) }
  if (deliveries > 0) yield { ...scenario, deliveries: deliveries - 1 }
  if (operators > 0) yield { ...scenario, operators: operators - 1 }
}
