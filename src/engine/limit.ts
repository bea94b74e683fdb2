import { invariant } from '../kernel/errors.js'

/**
 * How many records a step of a store takes when it was told `limit`, and may take `most`. What is no whole number
 * from 1 is refused here, because a database has its own idea of it: to SQLite, -1 is no limit at all.
 */
export function boundedLimit(limit: number, most: number): number {
  invariant(Number.isInteger(limit) && limit >= 1, `a limit is a whole number from 1, never ${limit}`)
  return Math.min(limit, most)
}
