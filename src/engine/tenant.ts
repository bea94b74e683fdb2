import type { Scope } from './scope.js'

/** The tenant of a scope, as its text has it: what stands before the parts that bind tighter. */
export function tenantOf(scope: Scope): string {
  const end = scope.indexOf(';')
  return end === -1 ? scope : scope.slice(0, end)
}
