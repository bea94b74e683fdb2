import type { FastifyReply, FastifyRequest } from 'fastify'
import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import type { Engine } from '../http/port.js'
import { payloadOf } from './fastify-payload.js'
import { rawLines } from './raw-lines.js'

/**
 * Answers a caller of a Fastify application who asks how its own key stands. The key is in the header.
 *
 * @example
 * app.get('/idempotency/status', { preHandler: authenticate }, keyStatus(hapax, { scope: tenantOf }))
 */
export function keyStatus<Tx>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<FastifyRequest>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const answer = keyStatusOf(engine, options)
  return async (request, reply) => {
    const asked = { lines: (name: string) => rawLines(request.raw.rawHeaders, name) }
    return reply.send(payloadOf(await answer(asked, request), reply))
  }
}
