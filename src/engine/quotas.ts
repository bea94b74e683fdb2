import type { Clock } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { type Limiter, limiterOf, overLimit, type Rate } from './limiter.js'
import type { Scope } from './scope.js'
import { tenantOf } from './tenant.js'

/** How much one tenant may take up. Only a key that is new is ever held up by these, never a retry. */
export interface QuotaOptions {
  /** How fast it may use new keys: a rate for this process, or a limiter that all nodes share. */
  readonly newKeys?: Rate | Limiter
}

export interface Quotas {
  /** Lets one more key of this scope's tenant in, or throws `quota_exceeded`. */
  admit(scope: Scope): Promise<void>
}

export function quotasOf({ newKeys }: QuotaOptions, clock: Clock): Quotas {
  const rate = newKeys && limiterOf(newKeys, 'quotas.newKeys')
  return {
    async admit(scope) {
      const retryAfterMs = rate && (await overLimit(rate, `new-keys ${tenantOf(scope)}`, clock))
      if (retryAfterMs === undefined) return
      const message = 'Too many new keys in a short time. Retries of keys that are known are not held up by this.'
      throw new HapaxError('quota_exceeded', message, { retryAfterMs })
    },
  }
}
