import { run } from './running.js'
import type { Scenario } from './scenario.js'
import { simulation, type Watching } from './simulation.js'
import { type Choice, type Chooser, following, recalling, usual } from './world/choices.js'
import type { Budget } from './world/faults.js'
import { calm, consequence } from './world/world.js'

/** A schedule that breaks a promise, as short as could be found. */
export interface Shrunk {
  readonly scenario: Scenario
  readonly error: unknown
  /** What was chosen in it, by its words. */
  readonly list: readonly string[]
  /** All that happens in it, for people. */
  readonly trace: readonly string[]
}

export interface Shrinking {
  /** As the schedule was run that failed: who remembers has other choices. */
  readonly memory?: Watching['memory']
  readonly mostRuns?: number
}

/**
 * Makes a failure easier to read: leaves out what the scenario can do without, takes back what goes wrong, and lets come in its
 * usual order whatever may, as long as the same promise is still broken: a shorter schedule that breaks another one tells of that.
 * What was chosen is looked for by its words, so that it is found again where others are left out.
 */
export async function shrunk(
  scenario: Scenario,
  choices: readonly number[],
  { memory, mostRuns = 2_000 }: Shrinking = {},
): Promise<Shrunk> {
  const watching: Watching = { trace: 'to the end', ...(memory !== undefined && { memory }) }
  let best = await tried(named(scenario), following(choices, usual, []), watching)
  if (best.error === undefined) throw new Error('The list of choices does not lead to what was found.')
  const broken = promiseIn(best.error)
  /** What is still chosen by its words: at first all that was. */
  let { list } = best
  let runs = 0
  const isBroken = async (smaller: Scenario, shorter: readonly string[]) => {
    if (runs++ >= mostRuns) return false
    const came = await tried(smaller, recalling(shorter), watching)
    if (came.error === undefined || promiseIn(came.error) !== broken) return false
    best = came
    list = shorter
    return true
  }
  for (let isBetter = true; isBetter && runs < mostRuns; ) {
    isBetter = false
    for (const smaller of smallerThan(best.scenario)) {
      if (!(await isBroken(smaller, list))) continue
      isBetter = true
      break
    }
    if (isBetter) continue
    for (let index = list.length - 1; index >= 0; index--)
      if (await isBroken(best.scenario, list.toSpliced(index, 1))) isBetter = true
  }
  return best
}

/** From some point on nothing is chosen, unless a promise was broken before. */
function untilCalm(trace: readonly string[]): readonly string[] {
  const end = trace.indexOf(calm)
  return end < 0 ? trace : trace.slice(0, end)
}

/** Which promise was broken: the words without the names and numbers in them. */
function promiseIn(error: unknown): string {
  return String(error instanceof Error ? error.message : error).replaceAll(/\S*[\d/]\S*/g, '…')
}

async function tried(scenario: Scenario, chooser: Chooser, watching: Watching): Promise<Shrunk> {
  const choices: Choice[] = []
  const { error, simulation: made } = await run({ simulation: simulation(scenario, chooser, watching), choices })
  const steps = made.world.trace.map((words) => words()).filter((words) => !words.startsWith(consequence))
  return { scenario, error, list: untilCalm(steps), trace: made.story() }
}

/** Everybody keeps his name when others are left out. */
function named(scenario: Scenario): Scenario {
  return { ...scenario, requests: scenario.requests.map((asking, index) => ({ ...asking, client: index + 1 })) }
}

/** The same with one thing less. */
function* smallerThan(scenario: Scenario): Generator<Scenario> {
  const { requests, passes = [], deliveries = 0, operators = 0, pauses = [], lanes, concurrency, ...rest } = scenario
  const without = <T>(all: readonly T[], index: number) => all.toSpliced(index, 1)
  for (const index of requests.keys())
    if (requests.length > 1) yield { ...scenario, requests: without(requests, index) }
  for (const index of passes.keys()) yield { ...scenario, passes: without(passes, index) }
  for (const index of pauses.keys()) yield { ...scenario, pauses: without(pauses, index) }
  if (deliveries > 0) yield { ...scenario, deliveries: deliveries - 1 }
  if (operators > 0) yield { ...scenario, operators: operators - 1 }
  for (const [index, asking] of requests.entries())
    if (asking.nodes.length > 1)
      yield { ...scenario, requests: requests.with(index, { ...asking, nodes: asking.nodes.slice(0, -1) }) }
  for (const faults of withOneLess(scenario.faults)) yield { ...scenario, faults }
  if (lanes !== undefined || concurrency !== undefined)
    yield { ...rest, requests, passes, deliveries, operators, pauses }
}

function* withOneLess(faults: Budget): Generator<Budget> {
  const all = Object.entries(faults)
  for (const [index, [kind, count]] of all.entries())
    if (count > 0) yield Object.fromEntries(all.with(index, [kind, count - 1]))
}
