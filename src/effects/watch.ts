import { codeOf } from '../engine/name.js'
import { backoffMs } from '../kernel/backoff.js'
import { backoffs } from '../kernel/limits.js'
import type { Ending } from './carrying.js'
import type { Surroundings } from './surroundings.js'

/** What a pass did. */
export interface Passed {
  readonly claimed: number
  readonly done: number
  readonly retried: number
  readonly unknown: number
  readonly dead: number
}

export function passedOf(claimed: number, endings: readonly (Ending | 'busy')[]): Passed {
  const count = (ending: Ending) => endings.filter((one) => one === ending).length
  return { claimed, done: count('done'), retried: count('retry'), unknown: count('unknown'), dead: count('dead') }
}

/** Who sees the passes of a worker that runs. */
export interface Watch {
  pass(make: () => Promise<Passed>): Promise<unknown>
  /** How long to rest after a pass that failed; `undefined` ends the run. */
  pauseAfter(error: unknown): number | undefined
}

/** Of a worker that nobody else watches: it tells in the log what failed. */
export function unwatched<Tx>({ log, chance }: Pick<Surroundings<Tx>, 'log' | 'chance'>): Watch {
  let failures = 0
  return {
    async pass(make) {
      await make()
      failures = 0
    },
    pauseAfter(error) {
      const message = `the effect worker failed (${codeOf(error)}); it goes on after a pause.`
      log({ level: 'warn', code: 'worker_failed', message })
      return backoffMs(backoffs.storing, ++failures, chance)
    },
  }
}
