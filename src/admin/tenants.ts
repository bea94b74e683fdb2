import type { Engine } from '../engine/engine.js'
import type { Rate } from '../engine/limiter.js'
import type { Usage } from '../engine/store.js'

/** What telemetry counts of tenants, by its shape. */
export interface Rates {
  readonly windowMs: number
  readonly tenants: readonly TenantRate[]
}

export interface TenantRate {
  readonly tenant: string
  readonly requests: number
  readonly duplicateRate: number
  readonly conflictRate: number
  readonly mismatchRate: number
}

export interface TenantView {
  readonly tenant: string
  /** Its quotas; what is absent is not limited. */
  readonly quotas: { readonly active_keys?: number; readonly stored_bytes?: number; readonly new_keys?: Rate }
  /** How often it came back lately, in this process; absent where nobody counts. */
  readonly rates?: {
    readonly window_ms: number
    readonly requests: number
    readonly duplicates: number
    readonly conflicts: number
    readonly mismatches: number
  }
  /** What it takes up, where it was asked for alone: counted to a bound. */
  readonly usage?: Usage
}

/** `tenant` is as its scopes have it. */
export function tenantView<Tx>(
  tenant: string,
  { operating }: Engine<Tx>,
  rates: (() => Rates) | undefined,
): TenantView {
  const { activeKeys, storedBytes, newKeys } = operating.quotas ?? {}
  const name = decodeURIComponent(tenant)
  const limit = (quota: typeof activeKeys) => (typeof quota === 'function' ? quota(name) : quota)
  const [active, bytes] = [limit(activeKeys), limit(storedBytes)]
  const isRate = newKeys !== undefined && 'most' in newKeys
  const { windowMs = 0, tenants = [] } = rates?.() ?? {}
  const rate = tenants.find((one) => one.tenant === tenant)
  return {
    tenant: name,
    quotas: {
      ...(active !== undefined && { active_keys: active }),
      ...(bytes !== undefined && { stored_bytes: bytes }),
      ...(isRate && { new_keys: newKeys as Rate }),
    },
    ...(rate && {
      rates: {
        window_ms: windowMs,
        requests: rate.requests,
        duplicates: rate.duplicateRate,
        conflicts: rate.conflictRate,
        mismatches: rate.mismatchRate,
      },
    }),
  }
}
