/**
 * What `npm run simulate` runs, once it is bundled with the engine: all schedules of the small cases, or random ones of a
 * range of seeds. It is asked by lines of JSON, one after another, and says of each what it has found in another line.
 */
import { createInterface } from 'node:readline'
import { cases } from './cases.js'
import { exhaust } from './exhaustive.js'
import { scenarioOf, scheduleOf } from './random.js'
import { type Feature, features } from './reached.js'
import { type Ended, run, runAll } from './running.js'
import type { Simulation } from './scenario.js'
import { settingOf } from './setting.js'
import { shrunk } from './shrinking.js'
import { working } from './working.js'

/** What is asked of one process. */
export type Task =
  | { readonly kind: 'case'; readonly name: string; readonly most: number }
  | {
      readonly kind: 'random'
      readonly from: number
      readonly count: number
      readonly ms: number
    }
  | { readonly kind: 'seed'; readonly seed: number }

/** Of the processor, all threads together: what else runs on the machine makes no schedule dearer. */
let busyUntilNow = { user: 0, system: 0 }

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line) as Task
  await working(() => done(asked))
}

async function done(asked: Task): Promise<void> {
  switch (asked.kind) {
    case 'case':
      return runCase(asked.name, asked.most)
    case 'random':
      return runRandom(asked)
    case 'seed':
      return runSeed(asked.seed)
  }
}

async function runCase(name: string, most: number): Promise<void> {
  const found = cases.find((one) => one.name === name)
  if (found === undefined) throw new Error(`There is no case “${name}”.`)
  withoutStacks()
  const { failure, missing, ...figures } = await exhaust(found.scenario, most)
  const missed = found.reaches.filter((feature) => !figures.reached.includes(feature))
  const lacks = [
    ...(missed.length === 0 ? [] : [`no schedule of it comes by ${missed.join(', ')}`]),
    ...(missing.length === 0 ? [] : [`no schedule of it has ${missing.join(', nor ')}`]),
  ]
  if (failure === undefined && figures.isExhausted && lacks.length > 0)
    return say({
      kind: 'failed',
      name,
      error: lacks.join(', and '),
      how: 'violation',
      setting: settingOf(found.scenario),
      trace: [],
    })
  if (failure === undefined) return say({ kind: 'case', name, ...figures })
  Error.stackTraceLimit = 20
  const { error, scenario, trace } = await shrunk(found.scenario, failure.choices, { memory: 'remembers' })
  say({ kind: 'failed', name, ...told(error), setting: settingOf(scenario), trace })
}

async function runRandom({ from, count, ms }: Extract<Task, { kind: 'random' }>): Promise<void> {
  const startedAt = performance.now()
  withoutStacks()
  let begun = 0
  let finished = 0
  let failed: { readonly seed: number; readonly error: unknown } | undefined
  let seed = from
  const reached = Object.fromEntries(features.map((feature) => [feature, 0])) as Record<Feature, number>
  const next = () => {
    if (failed !== undefined || begun === count || performance.now() - startedAt > ms) return undefined
    seed = from + begun++
    return scheduleOf(seed)
  }
  await runAll(next, ({ error, simulation }: Ended) => {
    finished++
    for (const feature of simulation.reached) reached[feature]++
    if (error !== undefined) failed = { seed, error }
  })
  if (failed !== undefined) return runSeed(failed.seed, { from, error: failed.error })
  const { user, system } = process.cpuUsage(busyUntilNow)
  busyUntilNow = process.cpuUsage()
  say({ kind: 'random', from, schedules: finished, reached, busyMs: (user + system) / 1_000 })
}

/** How a seed has failed behind others. */
interface Before {
  /** The first of those that ran in the same process. */
  readonly from: number
  readonly error: unknown
}

/** One seed again, as short as it can be made, in words. */
async function runSeed(seed: number, before?: Before): Promise<void> {
  Error.stackTraceLimit = 20
  const { error, choices, simulation } = await run(scheduleOf(seed, { trace: 'to the end' }))
  const setting = settingOf(simulation.scenario)
  if (error === undefined && before !== undefined) return sayUnrepeated(seed, before, simulation)
  if (error === undefined) return say({ kind: 'seed', seed, setting, trace: simulation.story() })
  const list = choices.map(({ taken }) => taken)
  const { scenario, ...found } = await shrunk(scenarioOf(seed), list)
  say({ kind: 'failed', seed, ...told(found.error), setting: settingOf(scenario), trace: found.trace })
}

/** Something outlived a schedule: that is as much of a failure, and told with what ran before it. */
function sayUnrepeated(seed: number, { from, error }: Before, { scenario, story }: Simulation): void {
  const { error: words, how } = told(error)
  const why = `${words}\nAlone it keeps every promise: it was harmed by what came before it, from seed ${from} on.`
  say({ kind: 'failed', seed, from, error: why, how, setting: settingOf(scenario), trace: story() })
}

/** Where an error was made is worth as much time as all the rest, and nobody reads it here. */
function withoutStacks(): void {
  Error.stackTraceLimit = 0
}

function say(line: object): void {
  console.log(JSON.stringify(line))
}

/** A broken promise says all there is to say; anything else is a bug, and where it was thrown matters. */
function told(error: unknown): { readonly error: string; readonly how: 'violation' | 'thrown' } {
  if (!(error instanceof Error)) return { error: String(error), how: 'thrown' }
  if (error.name === 'Violation') return { error: error.message, how: 'violation' }
  return { error: error.stack ?? error.message, how: 'thrown' }
}
