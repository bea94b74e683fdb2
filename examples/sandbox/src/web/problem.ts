import type { FastifyReply } from 'fastify'
import { catalogue } from 'hapax'

/** What is told of a problem. `code` never changes; programs go by it. */
export interface ProblemDetails {
  readonly status: number
  readonly code: string
  /** The same sentence for every problem of this code. */
  readonly title: string
  /** What was wrong with this request, and what to do. */
  readonly detail: string
  /** In seconds; a problem that has it may pass. */
  readonly retryAfter?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Thrown wherever a request ends early; the error handler sends it as RFC 9457 problem details. */
export class Problem extends Error {
  readonly details: ProblemDetails

  constructor(details: ProblemDetails, cause?: unknown) {
    super(`${details.code}: ${details.detail}`, { cause })
    this.details = details
  }
}

/** The shape is that of the problems which Hapax itself sends, so that a client needs to know one only. */
export function written(problem: ProblemDetails): { headers: Record<string, string>; body: string } {
  const { retryAfter, headers } = problem
  return {
    headers: {
      ...mediaType,
      'Cache-Control': 'no-store',
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      ...headers,
    },
    body: JSON.stringify(membersOf(problem)),
  }
}

/** The same as the reply of an operation, which is kept. */
export function repliedProblem(problem: ProblemDetails) {
  return { status: problem.status, headers: mediaType, body: membersOf(problem) }
}

const mediaType = { 'Content-Type': 'application/problem+json' }

function membersOf({ status, code, title, detail, retryAfter }: ProblemDetails) {
  // What Hapax knows, its page explains.
  const type = code in catalogue ? `/idempotency/errors#${code}` : `urn:problem-type:sandbox:${code}`
  return { type, title, status, detail, code, retryable: retryAfter !== undefined, retry_after: retryAfter }
}

export function sendProblem(reply: FastifyReply, problem: ProblemDetails): FastifyReply {
  const { headers, body } = written(problem)
  // As bytes, because Fastify adds a charset to a text, and this media type has none.
  return reply.code(problem.status).headers(headers).send(Buffer.from(body))
}

export function mediaTypeUnsupported(): Problem {
  return new Problem({
    status: 415,
    code: 'media_type_unsupported',
    title: 'The body is of a kind that is not read here.',
    detail: 'Send "Content-Type: application/json" and no Content-Encoding.',
    headers: { 'Accept-Post': 'application/json' },
  })
}
