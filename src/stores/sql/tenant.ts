import type { Scope } from '../../engine/scope.js'
import type { TenantPage } from '../../engine/store.js'
import { tenantOf } from '../../engine/tenant.js'

/**
 * Where the scopes of a tenant begin and end that bind tighter than the tenant, in the order of their bytes. Escaping
 * leaves the semicolon to separate, and nothing else stands between it and the next character.
 */
export function scopesWithin(tenant: string): readonly [from: string, to: string] {
  return [`${tenant};`, `${tenant}<`]
}

/** A scope at which a tenant's scopes begin, in one of the two places in which they stand. */
export interface Walked {
  readonly scope: string
  /** Whether the tenant stands in no place before this one. */
  readonly isFirst: boolean
}

/** A page of tenants, made of what was walked for it. Twice as many were, and one: a tenant may stand in two places. */
export function tenantsIn(walked: readonly Walked[], limit: number): TenantPage {
  const first = walked.filter(({ isFirst }) => isFirst)
  const page = first.slice(0, limit)
  const end = first.length > limit ? page.at(-1) : walked.length > 2 * limit ? walked.at(-1) : undefined
  return { tenants: page.map(({ scope }) => tenantOf(scope as Scope)), next: end && beyond(end.scope) }
}

/** All scopes of the place come before this, and those of the next place behind it. */
function beyond(scope: string): string {
  const tenant = tenantOf(scope as Scope)
  return tenant === scope ? scope : `${tenant}<`
}
