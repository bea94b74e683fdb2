import { AsyncResource } from 'node:async_hooks'
import type { Awaitable } from '../kernel/awaitable.js'
import { atEndOfTurn, systemClock } from '../kernel/clock.js'
import { limits } from '../kernel/limits.js'

/**
 * Runs a step at the end of this turn of the event loop, right behind those that were asked for before it. A server reads
 * many requests in one turn; taken one by one, with all that node and the kernel do between two of them, each finds the
 * processor's caches cold and takes much longer (docs/internals/decisions/0017).
 *
 * The step runs in the caller's own async context. What it throws is told to its caller alone.
 */
export function inTurn<T>(step: () => Awaitable<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const isFirst = waiting.push(new Waiting(step, resolve as (value: unknown) => void, reject)) === 1
    if (isFirst) atEndOfTurn(runTogether)
  })
}

class Waiting extends AsyncResource {
  readonly #step: () => unknown
  readonly #resolve: (value: unknown) => void
  readonly #reject: (error: unknown) => void

  constructor(step: () => unknown, resolve: (value: unknown) => void, reject: (error: unknown) => void) {
    super('HapaxInTurn')
    this.#step = step
    this.#resolve = resolve
    this.#reject = reject
  }

  run(): void {
    try {
      // What is still to come is left to the promise itself: who waits for it through closures keeps these meanwhile.
      this.#resolve(this.runInAsyncScope(this.#step))
    } catch (error) {
      this.#reject(error)
    }
  }
}

const waiting: Waiting[] = []

/**
 * Those who wait hear of it after the last: what they do then is done one by one again. So a batch is bounded in number, and
 * in time too, since a step may hold a handler that computes for long.
 */
function runTogether(): void {
  const enoughAt = systemClock.elapsed() + limits.togetherMs
  let taken = 0
  for (const one of waiting) {
    if (taken === limits.together || (taken > 0 && systemClock.elapsed() > enoughAt)) break
    taken++
    one.run()
  }
  waiting.splice(0, taken)
  if (waiting.length > 0) atEndOfTurn(runTogether)
}
