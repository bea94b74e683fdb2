import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { FingerprintStrategy } from 'hapax'
import { mediaTypeUnsupported, Problem } from '../web/problem.js'
import { keepBytes } from '../web/sent-bytes.js'

const formType = 'application/x-www-form-urlencoded'

/** The paths of this app read what a form, or `curl -d`, sends, besides JSON. */
export function readFormsToo(app: FastifyInstance): void {
  app.addContentTypeParser(formType, { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') throw mediaTypeUnsupported()
    keepBytes(request, bytes)
    return Object.fromEntries(fieldsIn(bytes.toString()))
  })
}

/** Each field may be there once, and so their order says nothing: in whatever order they come, it is the same request. */
export const byFields: FingerprintStrategy = {
  kind: 'own',
  id: 'fields-in-any-order',
  of({ mediaType = '', body }) {
    const text = new TextDecoder().decode(body)
    const isForm = mediaType.trimStart().toLowerCase().startsWith(formType)
    const fields = isForm ? [...fieldsIn(text)] : Object.entries(JSON.parse(text))
    return JSON.stringify(fields.sort(([one], [other]) => (one < other ? -1 : 1)))
  },
}

function fieldsIn(form: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const pair of form.split('&').filter((part) => part !== '')) {
    const [name, value] = [...pair.split('=', 1), pair.slice(pair.indexOf('=') + 1)].map(decoded)
    if (name === undefined || value === undefined || !pair.includes('=') || fields.has(name))
      throw notAForm('Send each field once, as name=value.')
    fields.set(name, value)
  }
  return fields
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
