import type { IncomingMessage } from 'node:http'
import { Problem } from './problem.js'

const tenants = new Map([
  ['ohk_test_acme', 'acme'],
  ['ohk_test_globex', 'globex'],
])

/** Who is asking. A key belongs to the tenant of the token, never to anything that the request says about itself. */
export function tenantOf(request: IncomingMessage): string {
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  const tenant = tenants.get(token ?? '')
  if (tenant !== undefined) return tenant
  throw new Problem({
    status: 401,
    code: 'unauthenticated',
    title: 'The request does not say who is asking.',
    detail: 'Send "Authorization: Bearer ohk_test_acme" or "Authorization: Bearer ohk_test_globex".',
    headers: { 'WWW-Authenticate': `Bearer realm="sandbox"${token === undefined ? '' : ', error="invalid_token"'}` },
  })
}
