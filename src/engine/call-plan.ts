import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import type { Policy } from './policy.js'
import type { OpenCall } from './progress.js'
import type { CallOptions, ResultNeed } from './work.js'

/** The options of a call, checked: durations as milliseconds. */
export interface CallPlan {
  readonly timeoutMs: number
  readonly readLagMs: number
  /** `undefined`: the provider does not honour the key. */
  readonly honoursKeyForMs: number | undefined
}

export function callPlan<T, I>(name: string, options: CallOptions<T, I, ResultNeed>, policy: Policy): CallPlan {
  if (typeof options?.run !== 'function') throw invalid(name, 'give run, the function that makes the call')
  const { timeout, readLag, honoursKeyFor, lookup, classify, result = 'required' } = options
  if (result !== 'required' && result !== 'optional') throw invalid(name, "result is 'required' or 'optional'")
  for (const [option, value] of Object.entries({ lookup, classify })) {
    if (value !== undefined && typeof value !== 'function') throw invalid(name, `${option} is a function`)
  }
  const longestMs = policy.leaseMs - limits.callMarginMs
  // Whoever names no timeout is not refused for one: it is what the lease leaves.
  const timeoutMs = durationOr(timeout, Math.min(defaults.callTimeoutMs, longestMs), name, 'timeout')
  if (timeoutMs < 1 || timeoutMs > longestMs)
    throw invalid(
      name,
      `its timeout of ${timeoutMs} ms must end ${limits.callMarginMs} ms before the lease of ${policy.leaseMs} ms; raise the lease`,
    )
  const honoursKeyForMs = honoursKeyFor === undefined ? undefined : durationOr(honoursKeyFor, 0, name, 'honoursKeyFor')
  refuseLongMemory(name, honoursKeyForMs, policy)
  return { timeoutMs, readLagMs: durationOr(readLag, 0, name, 'readLag'), honoursKeyForMs }
}

/**
 * A key that we have forgotten begins anew, with the downstream keys of its first time. A provider that still knew them
 * would take the new request for the old one.
 */
function refuseLongMemory(name: string, honoursKeyForMs = 0, { retentionMs, tombstoneMs }: Policy): void {
  if (retentionMs === undefined || honoursKeyForMs <= retentionMs + tombstoneMs) return
  throw invalid(
    name,
    'its provider remembers keys for longer than the record and its tombstone are kept; raise tombstone',
  )
}

/** Whether the provider may still be relied upon to know the key of a call that was begun then. */
export function isRemembered(
  { begunAt, honoursKeyForMs }: Pick<OpenCall, 'begunAt' | 'honoursKeyForMs'>,
  now: number,
): boolean {
  if (honoursKeyForMs === undefined) return false
  const marginMs = Math.min(limits.keyMemoryMarginMs, honoursKeyForMs / 10)
  return now - begunAt < honoursKeyForMs - marginMs
}

function durationOr(text: Duration | undefined, otherwiseMs: number, name: string, option: string): number {
  return text === undefined ? otherwiseMs : parseDuration(text, `${option} of call "${name}"`)
}

function invalid(name: string, what: string): HapaxError {
  return new HapaxError('phase_invalid', `Call "${name}": ${what}.`)
}
