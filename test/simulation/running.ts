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
    await turn()
  }
}

/** Runs many at once, each a step per turn of the event loop: they know nothing of each other. */
export async function runTogether(next: () => Schedule | undefined, together: number, ended: (end: Ended) => void) {
  const running: Schedule[] = []
  for (;;) {
    while (running.length < together) {
      const schedule = next()
      if (schedule === undefined) break
      running.push(schedule)
    }
    if (running.length === 0) return
    for (let index = running.length - 1; index >= 0; index--) {
      const end = stepped(running[index] as Schedule)
      if (end === undefined) continue
      running.splice(index, 1)
      ended(end)
    }
    await turn()
  }
}

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
function turn(): Promise<void> {
  turns++
  return new Promise((resolve) => (turns % ticksPerTurn === 1 ? setImmediate(resolve) : process.nextTick(resolve)))
}

const ticksPerTurn = 64
let turns = 0
