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
  /** What was thrown where nobody listened: it came of the schedule that is under way. */
  let unheard: { readonly error: unknown } | undefined
  const hear = (error: unknown) => {
    unheard ??= { error }
  }
  process.on('unhandledRejection', hear)
  return new Promise<void>((resolve, reject) => {
    let schedule = next()
    const turn = () => {
      try {
        for (let steps = 0; steps < stepsPerTurn; steps++) {
          if (schedule === undefined) return resolve()
          const end = stepped(schedule)
          settle()
          if (end === undefined && unheard === undefined) continue
          ended(withUnheard(end ?? { ...schedule, error: undefined, isCut: false }, unheard))
          unheard = undefined
          schedule = next()
        }
        setImmediate(turn)
      } catch (error) {
        reject(error)
      }
    }
    setImmediate(turn)
  }).finally(() => process.off('unhandledRejection', hear))
}

/** A promise that was broken comes first: the other may have come of it. */
function withUnheard(end: Ended, unheard: { readonly error: unknown } | undefined): Ended {
  return end.error !== undefined || unheard === undefined ? end : { ...end, error: unheard.error }
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
