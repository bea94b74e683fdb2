import type { Clock } from '../kernel/clock.js'
import { type HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { limits } from '../kernel/limits.js'
import { type Log, wordsOf } from '../kernel/log.js'

/** Tells of a step of the store that failed, with what was thrown, and gives what its caller gets for it. */
export type TellFailure = (step: string, error: unknown, failure: HapaxError) => HapaxError

/** Every failure is an event. The log has a line of each step once in a while only: in an outage every request fails. */
export function storeFailures(events: Emitter, log: Log, clock: Clock): TellFailure {
  const loggedAt = new Map<string, number>()

  function isQuiet(step: string): boolean {
    const at = loggedAt.get(step)
    const now = clock.elapsed()
    if (at !== undefined && now - at < limits.storeLogMs) return true
    loggedAt.set(step, now)
    return false
  }

  return (step, error, failure) => {
    const errorCode = isHapaxError(error) ? error.code : failure.code
    events.emit('store_failed', () => ({ step, errorCode, cause: error }))
    if (!isQuiet(step))
      log({ level: 'warn', code: 'store_failed', message: `the store failed at "${step}": ${wordsOf(error)}` })
    return failure
  }
}
