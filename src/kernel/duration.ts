import { type Duration, durationMs, unitMs } from './duration-text.js'
import { HapaxError } from './errors.js'
import { limits } from './limits.js'

export type { Duration }

/** Durations are text at the public edge and milliseconds everywhere else. `what` names the option in the error. */
export function parseDuration(text: string, what: string): number {
  const ms = durationMs(text)
  if (ms === undefined) {
    throw new HapaxError(
      'policy_invalid',
      `${what} is ${JSON.stringify(text)}; write a duration like '30s', '15m', '24h' or '7d'.`,
    )
  }
  if (ms <= limits.durationMs) return ms
  throw new HapaxError(
    'policy_invalid',
    `${what} is ${text}; at most ${formatDuration(limits.durationMs)} can be kept.`,
  )
}

/** The largest unit that divides it: 5_400_000 is `90m`. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms >= unitMs[unit] && ms % unitMs[unit] === 0) return `${ms / unitMs[unit]}${unit}`
  }
  return `${ms}ms`
}
