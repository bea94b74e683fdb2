import type { RouteShorthandOptionsWithHandler } from 'fastify'
import { contractOf, errorsPage } from 'hapax'
import { keyStatus } from 'hapax/fastify'
import type { Sandbox } from '../sandbox.js'
import { ownerOf } from './keys.js'
import type { Authenticate } from './tenant.js'

/** What Hapax tells clients about the routes that it guards. Nothing of it is written here: it follows the routes. */

/** Which keys are accepted, which statuses may come, how long answers are kept. */
export function contract({ hapax, quick, keyOwner }: Sandbox): RouteShorthandOptionsWithHandler {
  const scopedBy = keyOwner === 'credential' ? 'tenant and credential' : 'tenant'
  return {
    async handler() {
      const published = contractOf(hapax, { scopedBy })
      if (quick === undefined) return published
      return { ...published, routes: [...published.routes, ...contractOf(quick).routes] }
    },
  }
}

/** The page that the `type` of a problem leads to. */
export function errors(): RouteShorthandOptionsWithHandler {
  const headers = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'",
  }
  return { handler: async (_request, reply) => reply.headers(headers).send(errorsPage()) }
}

/** How the caller's own key stands, which it sends in the header. */
export function keyState(sandbox: Sandbox, authenticate: Authenticate): RouteShorthandOptionsWithHandler {
  return { onRequest: authenticate, handler: keyStatus(sandbox.hapax, { scope: ownerOf(sandbox) }) }
}
