import { jsonReply, type Reply } from './reply.js'

/** What is told of a problem. `code` never changes; programs go by it. */
export interface ProblemDetails {
  readonly status: number
  readonly code: string
  /** The same sentence for every problem of this code. */
  readonly title: string
  /** What was wrong with this request, and what to do. */
  readonly detail: string
  /** Whether sending the same request with the same key again can help. */
  readonly retryable?: boolean
  /** In seconds. */
  readonly retryAfter?: number | undefined
  readonly headers?: Reply['headers']
}

/** Thrown wherever a request ends early; the server sends it as RFC 9457 problem details. */
export class Problem extends Error {
  readonly details: ProblemDetails

  constructor(details: ProblemDetails, cause?: unknown) {
    super(`${details.code}: ${details.detail}`, { cause })
    this.details = details
  }
}

export function problemReply(problem: ProblemDetails): Reply {
  const { status, code, title, detail, retryable = false, retryAfter, headers } = problem
  const type = `urn:problem-type:hapax:${code}`
  return jsonReply(
    status,
    { type, title, status, detail, code, retryable, retry_after: retryAfter },
    {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      ...headers,
    },
  )
}
