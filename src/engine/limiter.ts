import { hash } from 'node:crypto'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { type Clock, within } from '../kernel/clock.js'
import { type Duration, formatDuration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'

/** So many in so long a time, counted by this process alone. */
export interface Rate {
  readonly most: number
  /** At most 24 days; a limiter that counts in a database may take longer. */
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

/** Checks what was given, once, at start. */
export function limiterOf(given: Rate | Limiter, what: string): Limiter {
  if (typeof given !== 'object' || given === null) throw invalid(`${what} is neither a rate nor a limiter`)
  if ('consume' in given) {
    if (typeof given.consume !== 'function') throw invalid(`${what}.consume is no function`)
    return given
  }
  const { most, per } = given
  if (!Number.isSafeInteger(most) || most < 1) throw invalid(`${what}.most is ${most}, and no whole number from 1`)
  const perMs = parseDuration(per, `${what}.per`)
  if (perMs < 1 || perMs > limits.rateMs)
    throw invalid(`${what}.per is ${per}, and not from 1ms to ${formatDuration(limits.rateMs)}`)
  return new RateLimiterMemory({ points: most, duration: perMs / 1_000 })
}

function invalid(why: string): HapaxError {
  const message = `${why}; give a rate like { most: 100, per: '1s' }, or a limiter with consume(name).`
  return new HapaxError('policy_invalid', message)
}

/**
 * Counts one more under this name. How long to wait when there were too many, in milliseconds. A limiter that fails or
 * is silent lets nobody in, and says nothing about the store.
 */
export async function overLimit(
  limiter: Limiter,
  name: string,
  clock: Clock,
  timeoutMs: number = defaults.storeTimeoutMs,
): Promise<number | undefined> {
  const late = () => new Error(`The limiter did not answer within ${timeoutMs} ms.`)
  try {
    await within(clock, timeoutMs, Promise.resolve(limiter.consume(fitting(name))), late)
    return undefined
  } catch (refusal) {
    if (isVerdict(refusal)) return Math.max(1, refusal.msBeforeNext)
    throw limiterUnavailable('The limiter failed or was silent, so nothing was run.', refusal)
  }
}

export function limiterUnavailable(message: string, cause: unknown): HapaxError {
  return new HapaxError('limiter_unavailable', message, { cause, retryAfterMs: defaults.quotaHoldMs })
}

/** Limiters keep names in columns of their own width; one that does not fit would let nobody in. */
function fitting(name: string): string {
  return name.length <= limits.limiterNameLength ? name : hash('sha256', name)
}

function isVerdict(refusal: unknown): refusal is { readonly msBeforeNext: number } {
  return typeof (refusal as { msBeforeNext?: unknown } | null)?.msBeforeNext === 'number'
}
