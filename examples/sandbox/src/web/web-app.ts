import { type FastifyInstance, fastify } from 'fastify'
import { answerError, answerNotFound } from './errors.js'
import { readJsonOnly } from './json-body.js'
import { refuseGarbage } from './not-http.js'

/** The longest body that is read, in bytes. */
export const bodyLimit = 1_000_000

/**
 * A Fastify without routes: what it reads, how long it waits, and how it says that something is wrong. It logs no
 * requests, whose headers hold keys and tokens.
 */
export function webApp(): FastifyInstance {
  const app = fastify({
    bodyLimit,
    // A client has this long to send its request.
    requestTimeout: 30_000,
    http: { headersTimeout: 10_000, maxHeaderSize: 16_384 },
    // And a connection may be silent for this long: longer than the longest payment takes.
    connectionTimeout: 120_000,
    // Whoever comes on an open connection while we stop is told so by Hapax, with a problem like any other.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    clientErrorHandler: refuseGarbage,
    frameworkErrors: (_error, request, reply) => void answerNotFound(request, reply),
  })
  readJsonOnly(app)
  // Before its body, in which there may be more to complain about.
  app.addHook('onRequest', async (request, reply) => (request.is404 ? answerNotFound(request, reply) : undefined))
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(answerNotFound)
  return app
}
