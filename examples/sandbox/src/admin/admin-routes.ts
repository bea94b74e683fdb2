import { Readable } from 'node:stream'
import type { ReadableStream as WebStream } from 'node:stream/web'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { adminApi, everything, type GuardedRoute } from 'hapax/admin'
import type { Sandbox } from '../sandbox.js'
import { bodyLimit } from '../web/web-app.js'

/**
 * `/admin/…`: what operators do, for whoever sits at this machine. The sandbox has no operators of its own, so that the
 * address says who may: nobody from elsewhere is let in, and no page that has a name of its own point here.
 */
export function addAdmin(
  app: FastifyInstance,
  { hapax, telemetry }: Sandbox,
  routes: () => readonly GuardedRoute[],
): void {
  const api = adminApi({
    hapax,
    path: '/admin',
    routes,
    rates: telemetry.tenants,
    authorize: (request) =>
      request.headers.get(nearby) === 'yes' ? { who: 'operator:sandbox', may: everything } : undefined,
  })
  app.addHook('preClose', async () => api.close())
  app.register((admin, _options, done) => {
    admin.removeAllContentTypeParsers()
    admin.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, read) => read(null, body))
    admin.route({
      method: ['GET', 'POST'],
      url: '/admin/*',
      handler: async (request, reply) => sent(reply, await api(requestOf(request, reply))),
    })
    done()
  })
}

/** Set here, and never taken from outside. */
const nearby = 'x-sandbox-nearby'

const ownAddresses = ['127.0.0.1', '::1', '::ffff:127.0.0.1']
const ownNames = ['localhost', '127.0.0.1', '[::1]']

/** A name that somebody else has pointed here is not ours, though the connection is. */
function isNearby({ ip, host }: FastifyRequest): boolean {
  const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : ''
  return ownAddresses.includes(ip) && ownNames.includes(name)
}

function requestOf(request: FastifyRequest, reply: FastifyReply): Request {
  const leaving = new AbortController()
  reply.raw.on('close', () => leaving.abort())
  const lines = Object.entries(request.headers).flatMap(([name, value]) =>
    name === nearby ? [] : [[name, String(value)] as [string, string]],
  )
  const headers = new Headers([...lines, [nearby, isNearby(request) ? 'yes' : 'no']])
  const body = Buffer.isBuffer(request.body) ? { body: new Uint8Array(request.body) } : {}
  const { method } = request
  return new Request(`http://sandbox${request.url}`, { method, headers, signal: leaving.signal, ...body })
}

function sent(reply: FastifyReply, response: Response): FastifyReply {
  reply.code(response.status).headers(Object.fromEntries(response.headers))
  return reply.send(response.body === null ? null : Readable.fromWeb(response.body as WebStream))
}
