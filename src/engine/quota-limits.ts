import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'

/** The same for every tenant, or what a function says of one; `undefined` is no limit. */
export type Quota = number | ((tenant: string) => number | undefined)

/** What one tenant may hold. */
export interface TenantLimits {
  readonly activeKeys: number | undefined
  readonly storedBytes: number | undefined
}

/** Checks what was given, once, at start. What a function says can only be checked when it says it. */
export function quotaLimits(given: {
  readonly activeKeys: Quota | undefined
  readonly storedBytes: Quota | undefined
}): (tenant: string) => TenantLimits {
  const activeKeys = quotaOf(given.activeKeys, 'quotas.activeKeys', limits.countedKeys)
  const storedBytes = quotaOf(given.storedBytes, 'quotas.storedBytes', Number.MAX_SAFE_INTEGER)
  return (tenant) => {
    // A scope holds the tenant's name escaped; the application knows it as it gave it.
    const name = decodeURIComponent(tenant)
    return { activeKeys: activeKeys(name), storedBytes: storedBytes(name) }
  }
}

function quotaOf(quota: Quota | undefined, what: string, most: number): (tenant: string) => number | undefined {
  if (typeof quota === 'function') {
    return (tenant) => {
      const limit = asked(quota, tenant, what)
      return limit === undefined ? undefined : checked(limit, `The function ${what} gave`, most)
    }
  }
  const limit = quota === undefined ? undefined : checked(quota, `${what} is`, most)
  return () => limit
}

/** A function that fails lets nobody in. */
function asked(quota: (tenant: string) => number | undefined, tenant: string, what: string): number | undefined {
  try {
    return quota(tenant)
  } catch (cause) {
    throw new HapaxError('policy_invalid', `The function ${what} threw, so nobody was let in.`, { cause })
  }
}

function checked(limit: number, what: string, most: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= most) return limit
  throw new HapaxError('policy_invalid', `${what} ${limit}; give a whole number from 1 to ${most}.`)
}
