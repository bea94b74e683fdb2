import { operationAnswer, type Wording } from '../engine/operation.js'
import type { Answer } from '../engine/record.js'
import { HapaxError, isHapaxError } from '../kernel/errors.js'
import type { Reply } from './exchange.js'
import { keptHeaders, reframed } from './kept-headers.js'
import { problemReply } from './problem.js'
import type { Profile } from './profile.js'
import { sendable } from './sendable.js'

/** What is kept of a reply, and the reply as it is sent the first time: a replay carries fewer headers. */
export interface Captured {
  readonly answer: Answer
  readonly reply: Reply
}

export function captured(given: Reply, keepHeaders: readonly string[]): Captured {
  const reply = reframed(sendable(given))
  const headers = keptHeaders(reply.headers, keepHeaders)
  return { answer: { status: reply.status, headers, body: reply.body }, reply }
}

/** What a worker writes down for a route: the answer that a request would have left. */
export function routeWording(profile: Profile, keepHeaders: readonly string[]): Wording {
  return {
    name: () => nameOf(profile, keepHeaders),
    toAnswer: (value) => captured(operationAnswer(value), keepHeaders).answer,
    errorToAnswer: (error) => problemReply(handlerFailed(error), profile),
  }
}

/**
 * All that an answer is made by, as text: a route that is built anew by an application that loads its modules again is the
 * same route, though its functions are others. What keys may look like does not show in an answer.
 */
function nameOf({ key: _, ...profile }: Profile, keepHeaders: readonly string[]): string {
  const asText = (_name: string, value: unknown) =>
    typeof value === 'function' || value instanceof RegExp ? String(value) : value
  return JSON.stringify([profile, [...keepHeaders].sort()], asText)
}

export function handlerFailed(error: unknown): HapaxError {
  return isHapaxError(error) ? error : new HapaxError('handler_failed', undefined, { cause: error })
}
