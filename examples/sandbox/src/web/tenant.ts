import type { FastifyRequest } from 'fastify'
import { Problem } from './problem.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is asking, once `authenticate` has run. */
    tenant: string
  }
}

const tenants = new Map([
  ['ohk_test_acme', 'acme'],
  ['ohk_test_globex', 'globex'],
])

/** A hook: a request goes on once it is known who is asking. On a replay too, since it stands before the guard. */
export async function authenticate(request: FastifyRequest): Promise<void> {
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  const tenant = tenantWith(token)
  if (tenant === undefined) throw unauthenticated(token)
  request.tenant = tenant
}

/** A system may know clients of its own besides. */
export type Authenticate = typeof authenticate

/** Whose token it is. */
export function tenantWith(token: string | undefined): string | undefined {
  return tenants.get(token ?? '')
}

/** A key belongs to the tenant of the token, never to anything that the request says about itself. */
export function tenantOf({ tenant }: FastifyRequest): string {
  return tenant
}

function unauthenticated(token: string | undefined): Problem {
  return new Problem({
    status: 401,
    code: 'unauthenticated',
    title: 'The request does not say who is asking.',
    detail: 'Send "Authorization: Bearer ohk_test_acme" or "Authorization: Bearer ohk_test_globex".',
    headers: { 'WWW-Authenticate': `Bearer realm="sandbox"${token === undefined ? '' : ', error="invalid_token"'}` },
  })
}
