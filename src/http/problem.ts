import { catalogue, type HapaxError } from '../kernel/errors.js'
import type { Reply } from './exchange.js'
import type { ProblemFacts, Profile } from './profile.js'
import { statusOf } from './statuses.js'

/** An error of ours as a reply, in the shape of the profile. What went wrong inside is for the log and not for the client. */
export function problemReply(error: HapaxError, profile: Profile): Reply {
  const { code, fault, retryable, retryAfterMs = 1_000 } = error
  const status = profile.statuses[code] ?? statusOf(code, fault)
  const retryAfterSeconds = retryable ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : undefined
  const detail = status < 500 ? error.message : retryable ? again : ours
  const facts: ProblemFacts = { code, status, title: catalogue[code].summary, detail, retryable, retryAfterSeconds }
  const { mediaType, body, headers = [] } = profile.problem(facts)
  return {
    status,
    headers: [
      ['Content-Type', mediaType],
      ['Cache-Control', 'no-store'],
      ...(retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)] as const]),
      ...headers,
    ],
    body: Buffer.from(JSON.stringify(body)),
  }
}

const again = 'Send the same request with the same key again: it is safe to retry.'
const ours = 'This has to be mended on our side; a retry does not help before.'
