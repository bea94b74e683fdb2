import type { Answer, StoredAnswer } from '../engine/record.js'
import { HapaxError } from '../kernel/errors.js'
import type { Reply } from './exchange.js'
import { problemReply } from './problem.js'
import type { Profile } from './profile.js'
import { acceptedStatus } from './statuses.js'

/** What the first caller is sent: all that the application said. */
export function wholeReply({ status, headers, body }: Reply, expiresAt: number | undefined): Reply {
  return { status, headers: expiresAt === undefined ? headers : [...headers, ...expiry(expiresAt)], body }
}

/** What is made of a stored answer, with the marks of a replay where it is one. No cache may keep it. */
export function storedReply(
  { status, headers, body }: Answer,
  marks: Reply['headers'],
  expiresAt: number | undefined,
): Reply {
  // A route may keep it, but what was meant for the first caller's cache is not meant for a replay.
  const kept = headers.filter(([name]) => name.toLowerCase() !== 'cache-control')
  return { status, headers: [...kept, ...marks, ...expiry(expiresAt), noStore], body }
}

/** The retry learns that it ran, how it was answered, and where to look for what it made. */
export function withheldReply({ status, headers }: StoredAnswer, profile: Profile): Reply {
  const told =
    status === 0 ? 'what it answered cannot be written down' : `was answered with ${status}, too long to be kept`
  const message = `The request ran, and ${told}. Do not send it again under a new key.`
  const problem = problemReply(new HapaxError('answer_withheld', message), profile)
  const place = headers.filter(([name]) => name.toLowerCase() === 'location')
  return { ...problem, headers: [...problem.headers, ...place] }
}

/** A duplicate that does not wait learns where to ask, and when. */
export function acceptedReply(retryAfterMs: number, statusAt: string): Reply {
  const retryAfter = String(Math.max(1, Math.ceil(retryAfterMs / 1_000)))
  const headers = [['Location', statusAt], ['Retry-After', retryAfter], noStore] as const
  return { status: acceptedStatus, headers, body: new Uint8Array() }
}

const noStore = ['Cache-Control', 'no-store'] as const
const none: Reply['headers'] = []

/** Many requests of one moment have the same. */
let last: { readonly second: number; readonly lines: Reply['headers'] } | undefined

function expiry(expiresAt: number | undefined): Reply['headers'] {
  if (expiresAt === undefined) return none
  const second = Math.floor(expiresAt / 1_000)
  if (last?.second !== second) {
    last = { second, lines: [['Idempotency-Key-Expires', new Date(expiresAt).toUTCString()]] }
  }
  return last.lines
}
