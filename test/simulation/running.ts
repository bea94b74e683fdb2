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
  const left = [schedule]
  let found: Ended | undefined
  await runAll(
    () => left.pop(),
    (end) => {
      found = end
    },
  )
  if (found === undefined) throw new Error('unreachable: every schedule ends')
  return found
}

/** Runs one after another until there is none left. */
export function runAll(next: () => Schedule | undefined, ended: (end: Ended) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let schedule = next()
    const turn = () => {
      try {
        for (let steps = 0; steps < stepsPerTurn; steps++) {
          if (schedule === undefined) return resolve()
          const end = stepped(schedule)
          if (end !== undefined) {
            ended(end)
            schedule = next()
          }
          settle()
        }
        setImmediate(turn)
      } catch (error) {
        reject(error)
      }
    }
    setImmediate(turn)
  })
}

/** A turn of the event loop costs more than a step, so that there is one for many: whoever else waits is heard then. */
const stepsPerTurn = 1_024

/**
 * Runs all that follows from a step: microtasks, until none is left, and what node says of a rejection that nobody listens to.
 * It is what node calls by itself behind every callback, and has no documented name.
 */
const settle = (process as unknown as { readonly _tickCallback: () => void })._tickCallback

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
