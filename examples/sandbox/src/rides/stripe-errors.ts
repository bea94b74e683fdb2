import type { FastifyReply, FastifyRequest } from 'fastify'
import { toldOf } from '../web/errors.js'

/** Errors as Stripe writes them, so that a client of rides meets one shape: the profile writes those of keys alike. */

export function answerLikeStripe(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, code, detail, retryAfter, headers } = toldOf(error, request)
  const type = status < 500 ? 'invalid_request_error' : 'api_error'
  return reply
    .code(status)
    .headers({
      'Cache-Control': 'no-store',
      'Stripe-Should-Retry': String(retryAfter !== undefined),
      ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
      ...headers,
    })
    .send({ error: { type, code, message: detail } })
}

/** What a ride that was not paid is answered with. It is an answer: it is kept, and a retry gets it again. */
export function cardError(status: 'declined' | 'failed') {
  if (status === 'declined')
    return {
      status: 402,
      body: { error: { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' } },
    }
  const message = 'The card cannot be processed. Use another key for another attempt.'
  return { status: 500, body: { error: { type: 'api_error', code: 'processing_error', message } } }
}
