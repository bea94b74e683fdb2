import { type Awaitable, after, attempted } from '../kernel/awaitable.js'
import { backoffMs } from '../kernel/backoff.js'
import type { Chance } from '../kernel/chance.js'
import type { Clock } from '../kernel/clock.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Emitter } from '../kernel/events.js'
import { backoffs, limits } from '../kernel/limits.js'

/**
 * Spares a store that is down, and the callers who would wait for it in vain. After a number of failures in a row the
 * circuit is open: requests are refused at once and the store is not asked. After a while one request tries; if the
 * store answers it the circuit closes, otherwise it stays open for longer.
 */
export interface Breaker {
  through<T>(step: () => Awaitable<T>): Awaitable<T>
  /** The same in three parts, for who waits for the store anyway. Throws when the circuit is open. */
  enter(): Pass
  heard(pass: Pass): void
  refused(pass: Pass, error: unknown): void
}

/** Whether a request asks as usual, or is the one that tries. */
export type Pass = 'as usual' | 'to try'

export function breaker(clock: Clock, chance: Chance, events: Emitter): Breaker {
  let failures = 0
  let openings = 0
  let openUntil: number | undefined
  let isTrying = false

  function answered(): void {
    failures = 0
    if (openUntil === undefined) return
    openings = 0
    openUntil = undefined
    events.emit('circuit_closed', () => ({}))
  }

  function failed(): void {
    failures++
    const isOpen = openUntil !== undefined && openUntil > clock.elapsed()
    if (isOpen || failures < limits.failuresInARow) return
    openings++
    const openMs = backoffs.circuit.firstMs + backoffMs(backoffs.circuit, openings, chance)
    openUntil = clock.elapsed() + openMs
    events.emit('circuit_opened', () => ({ failures, openMs }))
  }

  function enter(): Pass {
    if (openUntil === undefined) return 'as usual'
    const leftMs = openUntil - clock.elapsed()
    if (leftMs > 0 || isTrying) throw open(Math.max(leftMs, backoffs.circuit.firstMs))
    isTrying = true
    return 'to try'
  }

  function heard(pass: Pass): void {
    answered()
    if (pass === 'to try') isTrying = false
  }

  /** Whatever else a store says, it is there. */
  function refused(pass: Pass, error: unknown): void {
    if (isHapaxError(error, 'idempotency_store_unavailable')) failed()
    else answered()
    if (pass === 'to try') isTrying = false
  }

  return {
    enter,
    heard,
    refused,
    through(step) {
      const pass = enter()
      return attempted(
        () =>
          after(step(), (result) => {
            heard(pass)
            return result
          }),
        (error) => {
          refused(pass, error)
          throw error
        },
      )
    },
  }
}

function open(retryAfterMs: number): HapaxError {
  const message = 'The store has failed again and again, so it is left alone for a while; nothing was run.'
  return new HapaxError('idempotency_store_unavailable', message, { retryAfterMs })
}
