import { limits } from '../kernel/limits.js'
import type { QuotaGround } from './quota-ground.js'
import type { TenantLimits } from './quota-limits.js'
import { type TenantCount, tenantCount } from './quota-tenant.js'
import type { Scope } from './scope.js'
import { tenantOf } from './tenant.js'

export interface QuotaCounts {
  /** Lets one more key of this tenant in, or throws `quota_exceeded`. */
  admit(tenant: string, timeoutMs: number): Promise<void>
}

/** What each tenant may still take, as far as this process knows. */
export function quotaCounts(limitsOf: (tenant: string) => TenantLimits, ground: QuotaGround): QuotaCounts {
  const tenants = new Map<string, TenantCount>()
  const known = (scope: string) => tenants.get(tenantOf(scope as Scope))

  ground.events.on('reserved', ({ scope }) => known(scope)?.reserved())
  ground.events.on('completed', ({ scope, bytes }) => known(scope)?.stored(bytes))
  // It was told as completed before, with all its bytes.
  ground.events.on('withheld', ({ scope, bytes }) => known(scope)?.stored(-bytes))

  function countOf(tenant: string): TenantCount {
    const count = tenants.get(tenant) ?? tenantCount(tenant, ground)
    // Who was used last stands last, so that the first is who was not used for longest.
    tenants.delete(tenant)
    tenants.set(tenant, count)
    const [oldest] = tenants.keys()
    if (tenants.size > limits.countedTenants && oldest !== undefined) tenants.delete(oldest)
    return count
  }

  return {
    async admit(tenant, timeoutMs) {
      const wanted = limitsOf(tenant)
      if (wanted.activeKeys === undefined && wanted.storedBytes === undefined) return
      await countOf(tenant).admit(wanted, timeoutMs)
    },
  }
}
