import { catalogue, type ErrorCode, type HapaxError } from '../kernel/errors.js'
import { again, ours } from './advice.js'
import type { Reply } from './exchange.js'
import type { ProblemFacts, Profile } from './profile.js'
import { statusOf } from './statuses.js'

/** An error of ours as a reply, in the shape of the profile. What went wrong inside is for the log and not for the client. */
export function problemReply(error: HapaxError, profile: Profile): Reply {
  const { code, retryable, retryAfterMs = 1_000 } = error
  const status = statusIn(profile, code)
  const retryAfterSeconds = retryable ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : undefined
  const detail = status < 500 ? error.message : retryable ? again : ours
  const facts: ProblemFacts = {
    code,
    type: `${errorsPlace(profile)}#${code}`,
    status,
    title: catalogue[code].summary,
    detail,
    retryable,
    retryAfterSeconds,
  }
  const { mediaType, body, headers = [] } = profile.problem(facts)
  return {
    status,
    headers: [
      ['Content-Type', mediaType],
      ['Cache-Control', 'no-store'],
      ['Link', linksOf(profile, facts)],
      ...(retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)] as const]),
      ...headers,
    ],
    body: Buffer.from(JSON.stringify(body)),
  }
}

/** The status of a code under a profile. */
export function statusIn({ statuses }: Profile, code: ErrorCode): number {
  return statuses[code] ?? statusOf(code, catalogue[code].fault)
}

export function errorsPlace({ docs }: Profile): string {
  return `${withoutSlash(docs)}/errors`
}

function policyPlace({ docs }: Profile): string {
  return `${withoutSlash(docs)}/policy`
}

/** For people and for programs, also where the shape of the profile has no room for a link. */
function linksOf(profile: Profile, { type }: ProblemFacts): string {
  return `<${type}>; rel="describedby"; type="text/html", <${policyPlace(profile)}>; rel="describedby"; type="application/json"`
}

function withoutSlash(docs: string): string {
  return docs.endsWith('/') ? docs.slice(0, -1) : docs
}
