import type { Effects } from '../engine/effect-definition.js'
import { type Duration, formatDuration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { effectBounds, limits } from '../kernel/limits.js'
import type { EffectSurroundings } from './surroundings.js'

export interface EffectWorkerOptions<Tx> extends EffectSurroundings<Tx> {
  /** Calls that are under way at once. */
  readonly concurrency?: number
  /** Effects that are leased at once. */
  readonly batch?: number
  /** How long a crash holds up an effect. Longer than any call may take, by a second or a tenth of it. */
  readonly lease?: Duration
}

/** Without one it is as long as the longest call may take, and some time to ask and to write. */
export function leaseOf(effects: Pick<Effects, 'kinds'>, lease: Duration | undefined): number {
  const longestMs = Math.max(...[...effects.kinds.values()].map(({ timeoutMs }) => timeoutMs))
  if (lease === undefined) return longestMs + effectBounds.leaseMarginMs
  const leaseMs = parseDuration(lease, 'lease')
  // A call is begun only if the lease outlasts it, and some of the lease is gone by then.
  const leastMs = Math.ceil(longestMs + Math.min(limits.callMarginMs, longestMs / 10))
  if (leaseMs >= Math.max(leastMs, limits.leaseFloorMs)) return leaseMs
  const message = `lease is ${lease}; it must be longer than the longest timeout, ${formatDuration(longestMs)}, by ${leastMs - longestMs} ms, and at least ${limits.leaseFloorMs} ms.`
  throw new HapaxError('policy_invalid', message)
}

export function wholeNumber(number: number, what: string): number {
  if (Number.isSafeInteger(number) && number >= 1 && number <= limits.batch) return number
  throw new HapaxError('policy_invalid', `${what} is ${number}; give a whole number from 1 to ${limits.batch}.`)
}
