import type { Simulation } from './scenario.js'
import type { Choice } from './world/choices.js'

/** How a schedule ended. `error` is the promise that was broken, or whatever else was thrown. */
export interface Ended {
  readonly simulation: Simulation
  readonly choices: readonly Choice[]
  readonly error: unknown
  /** Somebody saw that it goes on like another one. */
  readonly isCut: boolean
}

export interface Schedule {
  readonly simulation: Simulation
  readonly choices: readonly Choice[]
  /** Asked before each step: `'cut'` ends the schedule here. */
  readonly onStep?: (simulation: Simulation) => 'go' | 'cut'
}

/** Runs a schedule to its end. */
export async function run(schedule: Schedule): Promise<Ended> {
  for (;;) {
    const ended = stepped(schedule)
    if (ended !== undefined) return ended
    await new Promise<void>(turned)
  }
}

/** Runs one after another until there is none left. */
export function runAll(next: () => Schedule | undefined, ended: (end: Ended) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let schedule = next()
    const step = () => {
      try {
        if (schedule === undefined) return resolve()
        const end = stepped(schedule)
        if (end !== undefined) {
          ended(end)
          schedule = next()
        }
        void soon.then(turn)
      } catch (error) {
        reject(error)
      }
    }
    const turn = () => turned(step)
    step()
  })
}

/** What is put off from here is put off from within a microtask. */
const soon = Promise.resolve()

/** One step. What follows from it in the processes has happened when the turn is over. */
function stepped({ simulation, choices, onStep }: Schedule): Ended | undefined {
  try {
    if (onStep?.(simulation) === 'cut') return { simulation, choices, error: undefined, isCut: true }
    if (simulation.world.step() === 'more') return undefined
    return { simulation, choices, error: undefined, isCut: false }
  } catch (error) {
    return { simulation, choices, error, isCut: false }
  }
}

/**
 * Ends when nothing is left to run. What was put off to the next tick from within a microtask runs when no other microtask is
 * left, and without a turn of the event loop, which costs more than a step. Now and then there is one all the same: node
 * speaks of what was rejected where nobody listens only then.
 */
function turned(then: () => void): void {
  turns++
  if (turns % ticksPerTurn === 1) setImmediate(then)
  else process.nextTick(then)
}

const ticksPerTurn = 64
let turns = 0
