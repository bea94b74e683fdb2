import { atEndOfTurn, type Clock, systemClock } from '../../kernel/clock.js'
import { HapaxError } from '../../kernel/errors.js'
import { postgresBounds } from '../../kernel/limits.js'

/** How operations of one kind are run. */
export interface LaneWork<Operation, Result> {
  readonly alone: (operation: Operation) => Promise<Result>
  /** One statement for all of them, one outcome for each. */
  readonly together: (operations: readonly Operation[]) => Promise<readonly Outcome<Result>[]>
  /** The statement was undone as a whole, so that each operation may be tried alone. */
  readonly isUndone: (error: unknown) => boolean
}

export interface LaneOptions {
  /** Who has waited longer than this for a lane is sent away, and his operation does not happen: he has given up. */
  readonly patienceMs: number
  readonly clock?: Clock
  /** Statements that are under way at once. */
  readonly lanes?: number
  /** Calls back when what comes together has come. Default: at the end of this turn of the event loop. */
  readonly gather?: (send: () => void) => void
}

/** What became of an operation in a batch: done, to be done without the others, or to be done with the next batch. */
export type Outcome<Result> =
  | { readonly kind: 'done'; readonly result: Result | Promise<Result> }
  | { readonly kind: 'alone' }
  | { readonly kind: 'again' }

interface Waiting<Operation, Result> {
  readonly operation: Operation
  readonly since: number
  readonly resolve: (result: Result | Promise<Result>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Group commit. What arrives in one turn of the event loop, or while every lane is busy, travels as one statement, with one
 * round trip and one fsync for all of it. There is no timer: whoever comes alone is not held up. Without the turn, the first
 * two of many that were answered together would leave alone, and all the others would wait for them.
 */
export function lanes<Operation, Result>(
  { alone, together, isUndone }: LaneWork<Operation, Result>,
  options: LaneOptions,
): (operation: Operation) => Promise<Result> {
  const { patienceMs, clock = systemClock, gather = atEndOfTurn } = options
  let queue: Waiting<Operation, Result>[] = []
  let free: number = options.lanes ?? postgresBounds.lanes
  let isGathering = false

  function sendGathered(): void {
    isGathering = false
    move()
  }

  function move(): void {
    if (free > 0) sendAwayImpatient()
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
      void run(batch).then(() => {
        cancel()
        leave()
        // The place may have been given away long ago, and this batch may have left something for the next one.
        move()
      })
    }
  }

  function sendAwayImpatient(): void {
    const arrivedBefore = clock.elapsed() - patienceMs
    if (!queue.some(({ since }) => since < arrivedBefore)) return
    const impatient = queue.filter(({ since }) => since < arrivedBefore)
    queue = queue.filter(({ since }) => since >= arrivedBefore)
    for (const { reject } of impatient) reject(tooBusy(`no turn came within ${patienceMs} ms`))
  }

  function run(batch: readonly Waiting<Operation, Result>[]): Promise<void> {
    const [only, another] = batch
    return only !== undefined && another === undefined ? runAlone(only) : runTogether(batch)
  }

  async function runTogether(batch: readonly Waiting<Operation, Result>[]): Promise<void> {
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
      if (queue.length >= postgresBounds.queue) return reject(tooBusy('too many operations wait for it'))
      queue.push({ operation, since: clock.elapsed(), resolve, reject })
      if (free === 0 || isGathering) return
      isGathering = true
      gather(sendGathered)
    })
}

function tooBusy(why: string): HapaxError {
  return new HapaxError('store_busy', `PostgreSQL is too busy: ${why}. Nothing happened; try again.`)
}

function once(act: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
