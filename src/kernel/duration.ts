import { HapaxError } from './errors.js'
import { limits } from './limits.js'

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

type Unit = keyof typeof unitMs

/** A duration as people write it: `'250ms'`, `'30s'`, `'15m'`, `'24h'`, `'7d'`. */
export type Duration = `${number}${Unit}`

const pattern = /^(\d{1,9})(ms|s|m|h|d)$/

/** Durations are text at the public edge and milliseconds everywhere else. `what` names the option in the error. */
export function parseDuration(text: string, what: string): number {
  const match = pattern.exec(text)
  if (match === null) {
    throw new HapaxError(
      'policy_invalid',
      `${what} is ${JSON.stringify(text)}; write a duration like '30s', '15m', '24h' or '7d'.`,
    )
  }
  const ms = Number(match[1]) * unitMs[match[2] as Unit]
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
