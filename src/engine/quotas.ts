import { HapaxError } from '../kernel/errors.js'
import { type Limiter, limiterOf, overLimit, type Rate } from './limiter.js'
import { quotaCounts } from './quota-counts.js'
import type { QuotaGround } from './quota-ground.js'
import { type Quota, quotaLimits } from './quota-limits.js'
import { type Joined, together } from './quota-sharing.js'
import type { RecordName } from './record.js'
import { tenantOf } from './tenant.js'

/** How much one tenant may take up. Only a key that is new is ever held up by these, never a retry. */
export interface QuotaOptions {
  /** How fast it may use new keys: a rate for this process, or a limiter that all nodes share. */
  readonly newKeys?: Rate | Limiter
  /**
   * How many keys it may hold: those in use and those whose answers are kept. The store counts them, so that this holds
   * for all nodes together: a node lets in 2.5 % (at least one key) between two counts, and two nodes that count at the
   * same time are over by 5 % at most.
   */
  readonly activeKeys?: Quota
  /**
   * How many bytes the bodies of its kept answers may take, counted as the keys are. Nobody knows how long an answer
   * will be: requests that are under way when the last byte is used may exceed this by their answers. A tenant with so
   * many keys that they cannot be counted (`limits.countedKeys`) is over this too.
   */
  readonly storedBytes?: Quota
}

export interface Quotas {
  /**
   * Joins those who come with this key now, who are let in together. A limiter, or a count, that is silent for as long as
   * a step of the store may take lets nobody in.
   */
  join(name: RecordName, timeoutMs: number): Joined
}

/** The rate comes first: whoever asks too fast is turned away before anything is counted. */
export function quotasOf(options: QuotaOptions, ground: QuotaGround): Quotas {
  refuseMisspellings(options)
  const { newKeys, activeKeys, storedBytes } = options
  const rate = newKeys === undefined ? undefined : limiterOf(newKeys, 'quotas.newKeys')
  const isCounted = activeKeys !== undefined || storedBytes !== undefined
  const counts = isCounted ? quotaCounts(quotaLimits({ activeKeys, storedBytes }), ground) : undefined

  async function admit({ scope }: RecordName, timeoutMs: number): Promise<void> {
    const tenant = tenantOf(scope)
    const retryAfterMs = rate && (await overLimit(rate, `new-keys ${tenant}`, ground.clock, timeoutMs))
    if (retryAfterMs === undefined) return counts?.admit(tenant, timeoutMs)
    const message = 'Too many new keys in a short time. Retries of keys that are known are not held up by this.'
    throw new HapaxError('quota_exceeded', message, { retryAfterMs })
  }

  const crowds = together()
  return { join: (name, timeoutMs) => crowds.join(name, () => admit(name, timeoutMs)) }
}

/** The compiler sees that none is missing. */
const known: Readonly<Record<keyof QuotaOptions, true>> = { newKeys: true, activeKeys: true, storedBytes: true }

/** A misspelt quota would limit nobody. */
function refuseMisspellings(options: QuotaOptions): void {
  const names = Object.keys(known).join(', ')
  if (typeof options !== 'object' || options === null)
    throw new HapaxError('policy_invalid', `quotas is ${JSON.stringify(options)}; give an object with ${names}.`)
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined)
    throw new HapaxError('policy_invalid', `quotas.${unknown} is no quota; there are ${names}.`)
}
