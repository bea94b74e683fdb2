import { hash } from 'node:crypto'
import { mostGoneWrong } from './most-gone-wrong.js'
import { type Feature, features } from './reached.js'
import { run } from './running.js'
import type { Scenario } from './scenario.js'
import { simulation } from './simulation.js'
import { type Choice, following, usual } from './world/choices.js'

export interface Exhausted {
  readonly schedules: number
  /** Of these, so many went on like another one from some point on, and were left there. */
  readonly cut: number
  readonly states: number
  readonly failure: { readonly choices: readonly number[]; readonly error: unknown } | undefined
  readonly isExhausted: boolean
  /** What some schedule came by while something could go wrong. */
  readonly reached: readonly Feature[]
  /** What may go wrong in it, and has in no schedule gone wrong as often as it may, in words. */
  readonly missing: readonly string[]
}

/**
 * Every schedule of a scenario, one after another: each follows the last one up to its last choice that can be made
 * otherwise. What a process does is decided by what it was told, so two schedules that have told every process the same, with
 * the same database and the same ledger, and of which the judge remembers the same, go on and are judged alike: the second is
 * left there.
 */
export async function exhaust(scenario: Scenario, most: number): Promise<Exhausted> {
  /** In which schedule each state was come by first. */
  const seen = new Map<string, number>()
  const reached = new Set<Feature>()
  const wrong = mostGoneWrong(scenario.faults)
  let list: readonly number[] | undefined = []
  let [schedules, cut] = [0, 0]
  while (list !== undefined && schedules < most) {
    const choices: Choice[] = []
    const followed: readonly number[] = list
    const onStep = (made: ReturnType<typeof simulation>) => {
      if (choices.length < followed.length || made.isRecovering()) return 'go' as const
      // How it came about is judged first, also where it leads to what is known.
      made.checks.step()
      // Of each state a few bytes are kept: there are tens of thousands, and each is some thousand characters.
      const state = hash('sha1', made.digest(), 'base64')
      const first = seen.get(state)
      if (first === undefined) seen.set(state, schedules)
      // One that comes back to where it was, since what arrived changed nothing, is the only one that goes on from there.
      return first === undefined || first === schedules ? ('go' as const) : ('cut' as const)
    }
    const ended = await run({
      simulation: simulation(scenario, following(followed, usual, choices), { memory: 'remembers' }),
      choices,
      onStep,
    })
    schedules++
    if (ended.isCut) cut++
    for (const feature of ended.simulation.reached) reached.add(feature)
    wrong.note(ended.simulation.faults.taken())
    if (ended.error !== undefined) {
      const failure = { choices: choices.map(({ taken }) => taken), error: ended.error }
      return { schedules, cut, states: seen.size, failure, isExhausted: false, reached: [...reached], missing: [] }
    }
    list = next(choices)
  }
  const inOrder = features.filter((feature) => reached.has(feature))
  const isExhausted = list === undefined
  const missing = wrong.missing()
  return { schedules, cut, states: seen.size, failure: undefined, isExhausted, reached: inOrder, missing }
}

/** The list that differs from this one as late as possible; `undefined` when there is none. */
function next(choices: readonly Choice[]): readonly number[] | undefined {
  const last = choices.findLastIndex(({ taken, of }) => taken + 1 < of)
  if (last < 0) return undefined
  const list = choices.slice(0, last + 1).map(({ taken }) => taken)
  list[last] = (list[last] ?? 0) + 1
  return list
}
