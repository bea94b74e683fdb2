import type { Awaitable } from '../kernel/awaitable.js'
import { Refused } from './refused.js'

/** What there is to be permitted. */
export const permissions = ['read', 'settle', 'reconcile', 'redrive', 'discard', 'purge', 'audit'] as const

export type Permission = (typeof permissions)[number]

/** Who asks, and what he may do, in every tenant or in some. What is not named is not permitted. */
export interface Operator {
  /** As the audit log names him: `ann@example.com`. */
  readonly who: string
  readonly may: Readonly<Partial<Record<Permission, 'every tenant' | readonly string[]>>>
}

/** Says who makes a request, by whatever the application knows callers by; `undefined` is nobody. */
export type Authorize = (request: Request) => Awaitable<Operator | undefined>

/** Everything, everywhere. */
export const everything: Operator['may'] = Object.fromEntries(
  permissions.map((permission) => [permission, 'every tenant']),
)

/** Where he may do it; nowhere is refused. */
export function ensureAny({ may }: Operator, permission: Permission): 'every tenant' | readonly string[] {
  const where = may[permission]
  if (where === undefined || where.length === 0) throw new Refused('forbidden', `You may not ${permission} here.`)
  // A text has members like a list, and would open every tenant whose name is a part of it.
  if (where !== 'every tenant' && !Array.isArray(where))
    throw new Refused('forbidden', `authorize gave neither 'every tenant' nor a list of tenants for ${permission}.`)
  return where
}

/** Without a tenant it is about all of them. */
export function ensure(operator: Operator, permission: Permission, tenant: string | undefined): void {
  const where = ensureAny(operator, permission)
  if (where === 'every tenant') return
  if (tenant === undefined) throw new Refused('forbidden', `You may ${permission} in some tenants: say in which.`)
  if (!where.includes(tenant)) throw new Refused('forbidden', `You may not ${permission} in this tenant.`)
}
