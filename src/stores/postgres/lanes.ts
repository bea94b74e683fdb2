import { type Clock, systemClock } from '../../kernel/clock.js'
import { postgresBounds } from '../../kernel/limits.js'

/** How operations of one kind are run. */
export interface LaneSettings<Operation, Result> {
  readonly alone: (operation: Operation) => Promise<Result>
  /** One statement for all of them, one outcome for each. */
  readonly together: (operations: readonly Operation[]) => Promise<readonly Outcome<Result>[]>
  /** The statement was undone as a whole, so that each operation may be tried alone. */
  readonly isUndone: (error: unknown) => boolean
  readonly clock?: Clock
}

/** What became of an operation in a batch: done, to be done without the others, or to be done with the next batch. */
export type Outcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'alone' }
  | { readonly kind: 'again' }

interface Waiting<Operation, Result> {
  readonly operation: Operation
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit. What arrives while every lane is busy waits and travels as one statement, with one round trip and one
 * fsync for all of it. There is no timer: a batch is whatever came while the last one was under way, and whoever comes
 * alone is not held up.
 */
export function lanes<Operation, Result>(
  settings: LaneSettings<Operation, Result>,
): (operation: Operation) => Promise<Result> {
  const { alone, together, isUndone, clock = systemClock } = settings
  let queue: Waiting<Operation, Result>[] = []
  let free: number = postgresBounds.lanes

  function move(): void {
    while (free > 0 && queue.length > 0) {
      // Shared evenly: a lane that took all would leave the others with nothing to do.
      const batch = queue.slice(0, Math.min(Math.ceil(queue.length / free), postgresBounds.batch))
      queue = queue.slice(batch.length)
      free -= 1
      const leave = once(() => {
        free += 1
        move()
      })
      // A statement that waits for somebody else's lock must not hold up those who do not.
      const cancel = clock.after(postgresBounds.laneMs, leave)
      void run(batch).finally(() => {
        cancel()
        leave()
      })
    }
  }

  async function run(batch: readonly Waiting<Operation, Result>[]): Promise<void> {
    const [only, ...others] = batch
    if (only !== undefined && others.length === 0) return runAlone(only)
    try {
      const outcomes = await together(batch.map(({ operation }) => operation))
      const again = batch.filter((_, index) => outcomes[index]?.kind === 'again')
      queue = [...again, ...queue]
      for (const [index, waiting] of batch.entries()) {
        const outcome = outcomes[index]
        if (outcome?.kind === 'done') waiting.resolve(outcome.result)
        if (outcome?.kind === 'alone') void runAlone(waiting)
      }
    } catch (error) {
      if (isUndone(error)) for (const waiting of batch) void runAlone(waiting)
      else for (const { reject } of batch) reject(error)
    }
  }

  function runAlone({ operation, resolve, reject }: Waiting<Operation, Result>): Promise<void> {
    return alone(operation).then(resolve, reject)
  }

  return (operation) =>
    new Promise((resolve, reject) => {
      queue.push({ operation, resolve, reject })
      move()
    })
}

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
