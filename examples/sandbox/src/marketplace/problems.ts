import type { FastifyReply, FastifyRequest } from 'fastify'
import { toldOf } from '../web/errors.js'
import { Problem } from '../web/problem.js'

/** Whatever goes wrong here is told in the marketplace's own shape, as its profile tells of keys. */
export function answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, code, detail, retryAfter, headers = {} } = toldOf(error, request)
  return reply
    .code(status)
    .headers({ 'Cache-Control': 'no-store', ...headers })
    .headers(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) })
    .send(errorBody(code, detail))
}

export function errorBody(code: string, message: string) {
  return { error: { code: code.toUpperCase(), message } }
}

/** A refusal as the answer of an operation, which is kept. */
export function keptReply({ details: { status, code, detail } }: Problem) {
  return { status, body: errorBody(code, detail) }
}

/** What is asked for cannot be done with it as it is. */
export function conflict(code: string, detail: string): Problem {
  return new Problem({ status: 409, code, title: 'It is not in a state for this.', detail })
}

/**
 * Another request is at it, and takes its time. The same request again finds out how that ended. One that was tried too often
 * to be tried by itself goes on when it is sent again, and so its key is told: to its own tenant, since nobody else gets here.
 */
export function busy(key: string | null): Problem {
  const which = key === null ? '' : ` with the Idempotency-Key ${key}`
  const detail =
    `Another request${which} is moving this order. Send yours again in a moment; if it stays so, send that one again, ` +
    'which goes on where it stopped.'
  return new Problem({ status: 409, code: 'order_busy', title: 'The order is busy.', detail, retryAfter: 1 })
}
