import type { FastifyReply, FastifyRequest } from 'fastify'
import { toldOf } from '../web/errors.js'
import { Problem } from '../web/problem.js'
import type { Moving, Order } from './orders.js'

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

/** What is asked for cannot be done with it as it is. */
export function conflict(code: string, detail: string): Problem {
  return new Problem({ status: 409, code, title: 'It is not in a state for this.', detail })
}

/**
 * Another request is at it, and takes its time. The same request again finds out how that ended. One that was tried too often
 * to be tried by itself goes on when it is sent again by whoever has its key, which is told to nobody.
 */
export function busy(order?: Pick<Order, 'moving' | 'updatedAt'>): Problem {
  const { moving = null, updatedAt = '' } = order ?? {}
  const which = moving === null ? 'Another request' : `A request to ${doing[moving]}, of ${updatedAt},`
  const detail =
    `${which} is under way. Send yours again in a moment; if it stays so, send that one again, with its own key: it goes on ` +
    'where it stopped.'
  return new Problem({ status: 409, code: 'order_busy', title: 'The order is busy.', detail, retryAfter: 1 })
}

const doing: Readonly<Record<Moving, string>> = {
  escrow: 'create the escrow of this order',
  fund: 'fund the escrow of this order',
  release: 'release this order',
  refund: 'refund this order',
  dispute: 'dispute this order',
  resolve: 'decide the dispute over this order',
}
