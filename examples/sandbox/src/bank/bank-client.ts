import type { FastifyRequest } from 'fastify'
import { Problem } from '../web/problem.js'
import { type Caller, callerWith } from '../web/tenant.js'

/** Its own tenant, for what the published example sends. It is known to the bank's paths only. */
const clients = new Map<string, Caller>([
  ['sk_test_BQokikJOvBiI2HlWgH4olfQ2', { tenant: 'initech', credential: 'initech-1' }],
])

/** A hook: the name in `Basic` is the token, as `curl -u token:` sends it. `Bearer` is taken as everywhere else. */
export async function authenticateClient(request: FastifyRequest): Promise<void> {
  const token = tokenIn(request.headers.authorization ?? '')
  const client = clients.get(token ?? '') ?? callerWith(token)
  if (client === undefined) throw unauthenticated()
  Object.assign(request, client)
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
