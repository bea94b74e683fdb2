import type { FastifyInstance, FastifyRequest } from 'fastify'
import { mediaTypeUnsupported, Problem } from '../web/problem.js'

const mediaType = 'application/x-www-form-urlencoded'

/** The paths of this app read what a form, or `curl -d`, sends, besides JSON. Each field may be there once. */
export function readFormsToo(app: FastifyInstance): void {
  app.addContentTypeParser(mediaType, { parseAs: 'string' }, async (request: FastifyRequest, text: string) => {
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') throw mediaTypeUnsupported()
    const fields = new Map<string, string>()
    for (const pair of text.split('&').filter((part) => part !== '')) {
      const [name, value] = [...pair.split('=', 1), pair.slice(pair.indexOf('=') + 1)].map(decoded)
      if (name === undefined || value === undefined || !pair.includes('=') || fields.has(name))
        throw notAForm('Send each field once, as name=value.')
      fields.set(name, value)
    }
    return Object.fromEntries(fields)
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    throw notAForm('Percent-encode fields as UTF-8.', cause)
  }
}

function notAForm(detail: string, cause?: unknown): Problem {
  return new Problem({ status: 400, code: 'body_not_a_form', title: 'The body is not a form.', detail }, cause)
}
