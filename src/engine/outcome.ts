import { type ErrorDetails, HapaxError, isHapaxError } from '../kernel/errors.js'
import { defaults } from '../kernel/limits.js'
import type { StoredAnswer } from './record.js'

/** How one guarded request ended, for whoever turns it into an HTTP response or a return value. */
export type Outcome =
  | Told
  /** The handler threw, and the key may be tried again. */
  | { readonly kind: 'threw'; readonly error: unknown }

/** What the caller of a request is told by us, and not by whoever hears of an error in a handler. */
export type Told =
  | Answered
  /** A duplicate of a request that still runs, under `concurrency: 'accept'`: ask again later. */
  | { readonly kind: 'accepted'; readonly retryAfterMs: number }
  /** Nothing ran for this request, or nothing can be said about it yet. */
  | { readonly kind: 'refused'; readonly error: HapaxError }

export interface Answered {
  readonly kind: 'answered'
  readonly answer: StoredAnswer
  /** `false` when the key may be tried again: the answer was a 5xx, or nothing guarded it. */
  readonly stored: boolean
  /** `true` when somebody else's run made this answer. */
  readonly replayed: boolean
  /** Above 1 when the key had expired and was used anew. */
  readonly generation: number
  /** The `traceparent` of the run that made this answer, where that was traced. */
  readonly trace?: string | undefined
  /** On the store's clock; `undefined` for ever, or when nothing was stored. */
  readonly expiresAt: number | undefined
}

/** An error of ours as an outcome. Any other error is a bug and goes on its way. */
export function refusal(error: unknown): Outcome {
  if (isHapaxError(error)) return { kind: 'refused', error }
  throw error
}

/**
 * How long somebody is told to wait who meets a doubt: until it has been looked at, where that is planned. What is due, and
 * what only a person can settle, says nothing of when that will be.
 */
export function unknownRetryMs(lookInMs: number): number {
  return lookInMs > 0 ? lookInMs + defaults.lookedAtAfterMs : defaults.unknownRetryAfterMs
}

/** What everybody is told who meets an outcome that nobody knows. */
export function unknownOutcome(details: ErrorDetails): HapaxError {
  const message = 'Ask again later with the same key; never send the request under a new one, since it may have run.'
  return new HapaxError('outcome_unknown', message, details)
}
