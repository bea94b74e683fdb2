import type { FastifyRequest } from 'fastify'
import { Problem } from '../web/problem.js'
import { tenantWith } from '../web/tenant.js'

/** Its own tenant, for what the published example sends. It is known to the bank's paths only. */
const clients = new Map([['sk_test_BQokikJOvBiI2HlWgH4olfQ2', 'initech']])

/** A hook: the name in `Basic` is the token, as `curl -u token:` sends it. `Bearer` is taken as everywhere else. */
export async function authenticateClient(request: FastifyRequest): Promise<void> {
  const token = tokenIn(request.headers.authorization ?? '')
  const tenant = clients.get(token ?? '') ?? tenantWith(token)
  if (tenant === undefined) throw unauthenticated()
  request.tenant = tenant
}

function tokenIn(authorization: string): string | undefined {
  const [, scheme, value = ''] = /^(Basic|Bearer) +(\S+) *$/i.exec(authorization) ?? []
  if (scheme?.toLowerCase() !== 'basic') return value
  // The password is empty.
  return /^([^:]+):$/.exec(Buffer.from(value, 'base64').toString())?.[1]
}

function unauthenticated(): Problem {
  return new Problem({
    status: 401,
    code: 'unauthenticated',
    title: 'The request does not say who is asking.',
    detail: 'Send a token as the user name of Basic, with an empty password, or as Bearer.',
    headers: { 'WWW-Authenticate': 'Basic realm="sandbox", Bearer realm="sandbox"' },
  })
}
