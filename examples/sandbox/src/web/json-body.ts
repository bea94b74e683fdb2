import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mediaTypeUnsupported, Problem } from './problem.js'
import { keepBytes } from './sent-bytes.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a request may name a media type and send nothing of it, as some clients do who have nothing to say. */
    readonly emptyBody?: 'allowed'
  }
}

/** JSON in UTF-8, as it is: everything else is refused, where Fastify would mend what is not UTF-8, or read text too. */
export function readJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') throw mediaTypeUnsupported()
      keepBytes(request, bytes)
      if (bytes.byteLength === 0 && request.routeOptions.config.emptyBody === 'allowed') return undefined
      try {
        return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
      } catch (cause) {
        const detail = 'Send one JSON object in UTF-8.'
        throw new Problem({ status: 400, code: 'body_not_json', title: 'The body is not JSON.', detail }, cause)
      }
    },
  )
}
