import { hash } from 'node:crypto'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { type Clock, within } from '../kernel/clock.js'
import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'

/** So many in so long a time, counted by this process alone. */
export interface Rate {
  readonly most: number
  readonly per: Duration
}

/**
 * A limiter in the shape of `rate-limiter-flexible`. One whose counts are in a database holds for all nodes together:
 * `new RateLimiterPostgres({ storeClient: pool, points: 100, duration: 1 })`.
 */
export interface Limiter {
  /** Rejects with `{ msBeforeNext }` once there were too many, and with an error when it cannot tell. */
  consume(key: string): Promise<unknown>
}

export function limiterOf(given: Rate | Limiter, what: string): Limiter {
  if ('consume' in given) return given
  const { most, per } = given
  if (!Number.isSafeInteger(most) || most < 1)
    throw new HapaxError('policy_invalid', `${what}: most is ${most}; give a whole number from 1.`)
  return new RateLimiterMemory({ points: most, duration: parseDuration(per, what) / 1_000 })
}

/**
 * Counts one more under this name. How long to wait when there were too many, in milliseconds. A limiter that fails or
 * is silent lets nobody in.
 */
export async function overLimit(limiter: Limiter, name: string, clock: Clock): Promise<number | undefined> {
  try {
    await within(clock, defaults.storeTimeoutMs, limiter.consume(fitting(name)), silent)
    return undefined
  } catch (refusal) {
    if (isHapaxError(refusal)) throw refusal
    if (isVerdict(refusal)) return Math.max(1, refusal.msBeforeNext)
    throw new HapaxError('idempotency_store_unavailable', 'The limiter failed, so nothing was run.', { cause: refusal })
  }
}

/** Limiters keep names in columns of their own width; one that does not fit would let nobody in. */
function fitting(name: string): string {
  return name.length <= limits.limiterNameLength ? name : hash('sha256', name)
}

function isVerdict(refusal: unknown): refusal is { readonly msBeforeNext: number } {
  return typeof (refusal as { msBeforeNext?: unknown } | null)?.msBeforeNext === 'number'
}

function silent(): HapaxError {
  const message = `The limiter did not answer within ${defaults.storeTimeoutMs} ms.`
  return new HapaxError('idempotency_store_unavailable', message)
}
