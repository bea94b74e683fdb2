import { type Duration, parseDuration } from '../kernel/duration.js'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'

/** How often a worker looks, and for how much at once. */
export interface WorkerOptions {
  /** The longest rest between two passes. */
  readonly every?: Duration
  /** What one pass takes at most. */
  readonly batch?: number
}

export interface Pace {
  readonly everyMs: number
  readonly batch: number
}

export function pacedBy(options: WorkerOptions, worker: string, everyMs: number, batch: number): Pace {
  const pace = {
    everyMs: options.every === undefined ? everyMs : parseDuration(options.every, `${worker}: every`),
    batch: options.batch ?? batch,
  }
  if (pace.everyMs < 1) refuse(`${worker}: every is ${options.every}; a worker that never rests is no use, give more.`)
  if (!Number.isSafeInteger(pace.batch) || pace.batch < 1 || pace.batch > limits.batch)
    refuse(`${worker}: batch is ${pace.batch}; give a whole number from 1 to ${limits.batch}.`)
  return pace
}

/** A misspelt option would silently be the default: what nobody wants to learn in production. */
export function refuseMisspellings(what: string, given: object, known: readonly string[]): void {
  for (const option of Object.keys(given)) {
    if (!known.includes(option)) refuse(`${what}: ${option} is not an option; there are ${known.join(', ')}.`)
  }
}

export function refuse(message: string): never {
  throw new HapaxError('policy_invalid', message)
}
