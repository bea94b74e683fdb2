import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import fastify, { type FastifyReply } from 'fastify'
import type { HttpHarness, Said } from 'hapax/conformance'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'

/** Far above what any case sends: the limits that are tested are those of the guard. */
const bodyLimit = 64 * 1024 * 1024

export const fastifyHarness: HttpHarness = {
  name: 'fastify',
  store: async () => memoryStore(),
  async serve({ engine, routes }) {
    const app = fastify({ bodyLimit, forceCloseConnections: true })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.setErrorHandler((_error, _request, reply) => reply.code(500).send())
    for (const { path, options, scope, handler } of routes) {
      app.all(
        path,
        guard(
          engine,
          { ...options, scope: ({ headers }) => scope((name) => headers[name]?.toString()) },
          {
            async handler(request, reply) {
              const body = Buffer.isBuffer(request.body) ? request.body : new Uint8Array()
              const said = await handler({ method: request.method, body, work: request.work })
              if (said.by === 'commit') await request.work.commit(async () => void send(reply, said))
              else send(reply, said)
              return reply
            },
          },
        ),
      )
    }
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
  },
}

function send(reply: FastifyReply, { status, headers = [], body }: Said): void {
  reply.code(status)
  for (const name of new Set(headers.map(([name]) => name))) {
    // Said twice, this framework would keep the last one.
    const lines = headers.filter(([other]) => other === name).map(([, value]) => value)
    reply.header(name, lines.length === 1 ? lines[0] : lines)
  }
  reply.send(body === undefined || body instanceof Uint8Array ? body && Buffer.from(body) : Readable.from(body))
}
