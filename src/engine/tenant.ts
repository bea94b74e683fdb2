import { limits } from '../kernel/limits.js'
import { boundedLimit } from './limit.js'
import type { Scope } from './scope.js'

/** Whose keys the writes of operators are. It asks for nothing itself, and is not shown where people read of tenants. */
export const adminTenant = 'hapax.admin'

/** The tenant of a scope, as its text has it: what stands before the parts that bind tighter. */
export function tenantOf(scope: Scope): string {
  const end = scope.indexOf(';')
  return end === -1 ? scope : scope.slice(0, end)
}

/** A page of the tenants of what is all at hand. */
export function tenantsAmong(
  records: Iterable<{ readonly scope: Scope }>,
  { limit, after = '' }: { readonly limit: number; readonly after?: string },
): { readonly tenants: readonly string[]; readonly next: string | undefined } {
  const all = [...new Set(Array.from(records, ({ scope }) => tenantOf(scope)))]
    .sort()
    .filter((tenant) => tenant > after)
  const tenants = all.slice(0, boundedLimit(limit, limits.page))
  return { tenants, next: all.length > tenants.length ? tenants.at(-1) : undefined }
}
