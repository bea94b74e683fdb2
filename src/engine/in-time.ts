import type { Clock } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { TellFailure } from './store-failures.js'

/** Waits for steps of a store, and for none of them longer than it may take. Whatever goes wrong is told, under one name. */
export interface InTime {
  <T>(step: string, ask: () => Promise<T>, timeoutMs: number): Promise<T>
  /** Tells of a step that failed, and gives what its caller gets for it. */
  failed(step: string, error: unknown): HapaxError
}

export function stepsInTime(clock: Pick<Clock, 'after'>, tell: TellFailure): InTime {
  const failed = (step: string, error: unknown) => tell(step, error, unavailable(step, error))

  function inTime<T>(step: string, ask: () => Promise<T>, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      let isLate = false
      const cancel = clock.after(timeoutMs, () => {
        isLate = true
        reject(failed(step, lateStep(step, timeoutMs)))
      })
      const fail = (error: unknown) => {
        if (isLate) return
        cancel()
        reject(failed(step, error))
      }
      try {
        ask().then((value) => {
          cancel()
          resolve(value)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  return Object.assign(inTime, { failed })
}

function lateStep(step: string, timeoutMs: number): HapaxError {
  return new HapaxError('idempotency_store_unavailable', `The store did not answer "${step}" within ${timeoutMs} ms.`)
}

/**
 * One name for all that may have happened or not. A schema that an operator must mend, and a store that is busy and
 * says that nothing happened, keep their own.
 */
export function unavailable(step: string, error: unknown): HapaxError {
  if (isHapaxError(error) && ownNames.has(error.code)) return error
  const why = error instanceof Error ? error.message : String(error)
  return new HapaxError('idempotency_store_unavailable', `The store failed at "${step}": ${why}`, { cause: error })
}

const ownNames: ReadonlySet<string> = new Set([
  'idempotency_store_unavailable',
  'store_busy',
  'store_schema_outdated',
  'store_schema_newer',
])
