import type { Reply } from '../http/port.js'
import { isPromise } from '../kernel/awaitable.js'
import { HapaxError } from '../kernel/errors.js'
import type { HeldResponse } from './held-response.js'

/**
 * Calls a handler, and waits until it has answered into the held response or failed. It has failed, too, when its promise
 * is over, nothing has begun, and nobody is left to wait for it. Of a handler without a promise, or of those that it has
 * handed on to, nobody can know that they are over, so they are waited for.
 */
export function heldAnswer(held: HeldResponse, call: Calling, handOn: (to?: unknown) => void): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let isOver = false
    let isHandedOn = false
    // What was answered before stands: in an application without a guard it would have left.
    const fail = (error: unknown) => queueMicrotask(() => reject(error))
    const giveUp = () => {
      if (isOver && !isHandedOn && held.isGone() && !held.isBegun()) fail(notAnswered())
    }
    const goOn = (error?: unknown) => {
      if (!isNoError(error)) return fail(error)
      isHandedOn = true
      handOn(error)
    }
    held.ended.then(resolve, reject)
    held.onGone(giveUp)
    try {
      const wasGone = held.isGone()
      const returned = call(goOn)
      if (isPromise(returned)) {
        const over = () => {
          isOver = true
          giveUp()
        }
        returned.then(over, fail)
        // Who cuts the client off while it is called means to answer nothing.
      } else if (held.isGone() && !wasGone) fail(notAnswered())
    } catch (error) {
      fail(error)
    }
  })
}

type Calling = (goOn: (error?: unknown) => void) => unknown

/** Express goes on to the next handler, the next route or the next router. */
function isNoError(given: unknown): boolean {
  return !given || given === 'route' || given === 'router'
}

function notAnswered(): HapaxError {
  return new HapaxError('handler_failed', 'The handler ended without a response, and its client has gone away.')
}
