import type { Chance } from './chance.js'

export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

/**
 * Full jitter: anything between nothing and a ceiling that doubles with each attempt (counted from 1). Those who
 * failed together do not come back together.
 */
export function backoffMs(backoff: Backoff, attempt: number, chance: Chance): number {
  const ceiling = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt - 1, 30))
  return Math.ceil(ceiling * chance.fraction())
}
