import { markOf } from '../http/guard-mark.js'
import type { FoundRoute } from './found-route.js'

const tooLate =
  'A function that takes no next stands before its guard, which is not reached: put the guard first, or let that function take next if it goes on.'

/**
 * What guards a request that passes these functions in order: the first guard for its method, unless one before it ends the
 * request. That one ends it is seen by what it takes: without `next`, which comes behind so many others, it cannot go on.
 */
export function guardAmong(
  handlers: readonly unknown[],
  method: string,
  others: number,
): Pick<FoundRoute, 'guard' | 'note'> {
  const at = handlers.findIndex((handler) => markOf(handler)?.methods.includes(method))
  if (at === -1) return { guard: undefined }
  const endsIt = (handler: unknown) =>
    typeof handler === 'function' && markOf(handler) === undefined && handler.length <= others
  return handlers.slice(0, at).some(endsIt) ? { guard: undefined, note: tooLate } : { guard: markOf(handlers[at]) }
}
