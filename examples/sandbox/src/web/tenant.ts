import type { FastifyRequest } from 'fastify'
import { Problem } from './problem.js'

declare module 'fastify' {
  interface FastifyRequest extends Caller {}
}

/** Who is asking, once `authenticate` has run. */
export interface Caller {
  tenant: string
  /** Which of the tenant's tokens it was, by a name: the token itself is a secret. */
  credential: string
}

/** Two for each tenant, as its shop and its back office might have them. */
const callers = new Map<string, Caller>([
  ['ohk_test_acme', { tenant: 'acme', credential: 'acme-1' }],
  ['ohk_test_acme_2', { tenant: 'acme', credential: 'acme-2' }],
  ['ohk_test_globex', { tenant: 'globex', credential: 'globex-1' }],
  ['ohk_test_globex_2', { tenant: 'globex', credential: 'globex-2' }],
])

/** A hook: a request goes on once it is known who is asking. On a replay too, since it stands before the guard. */
export async function authenticate(request: FastifyRequest): Promise<void> {
  const token = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  const caller = callerWith(token)
  if (caller === undefined) throw unauthenticated(token)
  Object.assign(request, caller)
}

/** A system may know clients of its own besides. */
export type Authenticate = typeof authenticate

/** Whose token it is. */
export function callerWith(token: string | undefined): Caller | undefined {
  return callers.get(token ?? '')
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
