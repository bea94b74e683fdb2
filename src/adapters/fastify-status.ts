import type { FastifyReply, FastifyRequest } from 'fastify'
import { type KeyStatusOptions, keyStatusOf } from '../http/key-status.js'
import { type Engine, isAdded } from '../http/port.js'

/**
 * Answers a caller of a Fastify application who asks how its own key stands. The key is in the header.
 *
 * @example
 * app.get('/idempotency/key', { preHandler: authenticate }, keyStatus(hapax, { scope: tenantOf }))
 */
export function keyStatus<Tx>(
  engine: Engine<Tx>,
  options: KeyStatusOptions<FastifyRequest>,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const answer = keyStatusOf(engine, options)
  return async (request, reply) => {
    const asked = { lines: (name: string) => linesOf(request, name) }
    const { status, headers, body } = await answer(asked, request)
    for (const [name, value] of headers) {
      const before = isAdded(name) ? reply.getHeader(name) : undefined
      reply.header(name, before === undefined ? value : [before, value].join(', '))
    }
    return reply.code(status).send(Buffer.from(body))
  }
}

/** A request that is injected, as in tests, has no distinct headers. */
function linesOf({ raw, headers }: FastifyRequest, name: string): readonly string[] {
  const distinct: NodeJS.Dict<string[]> | undefined = raw.headersDistinct
  return distinct?.[name] ?? [headers[name] ?? []].flat()
}
