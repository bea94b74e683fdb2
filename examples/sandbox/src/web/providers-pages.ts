import type { FastifyRequest, RouteShorthandOptionsWithHandler } from 'fastify'
import type { Sandbox } from '../sandbox.js'
import { Problem } from './problem.js'

/** How long the providers may take: they are on this machine. */
const answerWithinMs = 10_000

/**
 * `/_providers/…`, handed on to the process of the providers as it is, and its answer back: what they have done, and
 * which faults they shall have. See PROVIDERS.md.
 */
export function providersPages({ providersUrl }: Sandbox): RouteShorthandOptionsWithHandler {
  return {
    async handler(request, reply) {
      const answer = await ask(providersUrl, request)
      const body = Buffer.from(await answer.arrayBuffer())
      return reply
        .code(answer.status)
        .headers({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
        .send(body)
    },
  }
}

async function ask(providersUrl: string | undefined, { method, url, body }: FastifyRequest): Promise<Response> {
  if (providersUrl === undefined)
    throw providersAbsent('Start the sandbox with `npm start`, or give HAPAX_PROVIDERS_URL.')
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  const signal = AbortSignal.timeout(answerWithinMs)
  // What is asked for its headers only is read all the same, and Fastify sends no more of it.
  const asked = method === 'HEAD' ? 'GET' : method
  try {
    return await fetch(new URL(url, providersUrl), { method: asked, signal, redirect: 'error', ...content })
  } catch (cause) {
    throw providersAbsent('They are started again when they have ended: ask again in a moment.', cause)
  }
}

export function providersAbsent(detail: string, cause?: unknown): Problem {
  const title = 'The simulated providers do not answer.'
  return new Problem({ status: 503, code: 'providers_unavailable', title, detail, retryAfter: 1 }, cause)
}
