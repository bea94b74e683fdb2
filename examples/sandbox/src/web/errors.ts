import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isHapaxError } from 'hapax'
import { ProviderFailed } from '../partners/provider.js'
import { mediaTypeUnsupported, Problem, type ProblemDetails, sendProblem } from './problem.js'

/** Whatever goes wrong ends here and is told in one shape. What is our fault is logged, and stops nothing. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return sendProblem(reply, toldOf(error, request))
}

/** What to tell the client. */
export function toldOf(error: unknown, request: FastifyRequest): ProblemDetails {
  const problem = detailsOf(error, request)
  if (problem.status >= 500) console.error(`${problem.code}:`, isExpected(error) ? error.message : error)
  return problem
}

export function answerNotFound(_request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const detail =
    'The sandbox knows /payments, /rides, /notifications and /sb/v1/withdraw, and tells of its keys at GET /idempotency/policy.'
  return sendProblem(reply, { status: 404, code: 'not_found', title: 'There is nothing here.', detail })
}

/** Something outside of this process: where it was thrown tells nobody anything. */
function isExpected(error: unknown): error is Error {
  return isHapaxError(error) || error instanceof ProviderFailed
}

const again = 'Send the same request again in a moment.'

function detailsOf(error: unknown, { raw }: FastifyRequest): ProblemDetails {
  if (error instanceof Problem) return error.details
  if (isHapaxError(error) && error.retryable)
    return { status: 503, code: error.code, title: 'The database does not answer.', detail: again, retryAfter: 1 }
  if (error instanceof ProviderFailed)
    return { status: 502, code: 'provider_failed', title: 'A provider did not answer.', detail: again, retryAfter: 1 }
  if (raw.destroyed && !raw.complete) return incomplete
  return (
    refusedByFastify(error) ?? { status: 500, code: 'internal_error', title: 'The sandbox has a bug.', detail: again }
  )
}

/** Nobody is left to read it. */
const incomplete: ProblemDetails = {
  status: 400,
  code: 'request_incomplete',
  title: 'The request ended in the middle.',
  detail: 'Send all of it.',
}

/** What Fastify itself refuses, before a route is asked. */
function refusedByFastify(error: unknown): ProblemDetails | undefined {
  if (!isFastifyError(error)) return undefined
  const { statusCode: status = 500, message: detail } = error
  if (status >= 500) return undefined
  if (status === 415) return mediaTypeUnsupported().details
  if (status === 413) return { status, code: 'body_too_large', title: 'The body is too large.', detail }
  return { status, code: 'request_malformed', title: 'The request cannot be read.', detail }
}

function isFastifyError(error: unknown): error is FastifyError {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('FST_')
}
