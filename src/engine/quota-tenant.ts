import { HapaxError, isHapaxError } from '../kernel/errors.js'
import { defaults, limits } from '../kernel/limits.js'
import { limiterUnavailable } from './limiter.js'
import type { QuotaGround } from './quota-ground.js'
import type { TenantLimits } from './quota-limits.js'
import type { Usage } from './store.js'

export interface TenantCount {
  /** Lets one more key in, or throws `quota_exceeded`. A step of the store takes `timeoutMs` at most. */
  admit(wanted: TenantLimits, timeoutMs: number): Promise<void>
  /** A key that was let in stands in the store now, where a count sees it. */
  reserved(): void
  /** An answer of so many bytes became durable. */
  stored(bytes: number): void
}

/**
 * What one tenant may still take. To count for every key would cost as much as the tenant holds, so the store is asked
 * once, a share of the quota is let in, and then it is asked again. All who come while it counts wait for the same count.
 */
export function tenantCount(tenant: string, { clock, store }: Pick<QuotaGround, 'clock' | 'store'>): TenantCount {
  let share = nothing
  let taken = 0
  let storedBytes = 0
  let counting: Promise<Share> | undefined
  let full: Full | undefined
  /** When the keys were let in that no count is sure to have seen, oldest first. */
  const unseen: number[] = []

  async function count(wanted: TenantLimits, timeoutMs: number): Promise<Share> {
    // A reservation is asked for twice at most, each time within this bound.
    const surelyEndedMs = 2 * timeoutMs
    while (unseen[0] !== undefined && clock.elapsed() - unseen[0] > surelyEndedMs) unseen.shift()
    const underWay = unseen.length
    full = undefined
    share = nothing
    taken = 0
    storedBytes = 0
    const usage = await store.usage(tenant, wanted.activeKeys ?? limits.countedKeys).catch(uncounted)
    const quota = usedUp(wanted, usage)
    if (quota === undefined) share = shareOf(wanted, usage, underWay)
    else full = { quota, until: clock.elapsed() + defaults.quotaHoldMs }
    return share
  }

  /** One count for all who want one now. */
  function counted(wanted: TenantLimits, timeoutMs: number): Promise<Share> {
    counting ??= count(wanted, timeoutMs).finally(() => {
      counting = undefined
    })
    return counting
  }

  return {
    async admit(wanted, timeoutMs) {
      const endAt = clock.elapsed() + timeoutMs
      for (let inVain = 0; ; ) {
        if (full !== undefined && clock.elapsed() < full.until) throw exceeded(full.quota, defaults.quotaRetryAfterMs)
        if (taken < share.keys && Math.max(storedBytes, taken * share.typicalBytes) < share.bytes) break
        if (clock.elapsed() >= endAt) throw crowded(timeoutMs)
        const { keys } = await counted(wanted, timeoutMs)
        // What is under way takes the rest, or was counted twice: by the next count it may have ended.
        if (keys < 1 && full === undefined && ++inVain === limits.recounts)
          throw exceeded('activeKeys', defaults.quotaHoldMs)
      }
      taken++
      if (wanted.activeKeys !== undefined) unseen.push(clock.elapsed())
    },
    // Not the oldest: one whose reservation failed never comes here, and must grow old.
    reserved: () => void unseen.pop(),
    stored(bytes) {
      storedBytes += bytes
    },
  }
}

/** What may be let in before the next count. */
interface Share {
  readonly keys: number
  readonly bytes: number
  /** What a key of this tenant takes on average, as long as its own answer is not known. */
  readonly typicalBytes: number
}

interface Full {
  readonly quota: keyof TenantLimits
  readonly until: number
}

const nothing: Share = { keys: 0, bytes: 0, typicalBytes: 0 }

function usedUp({ activeKeys, storedBytes }: TenantLimits, { keys, bytes }: Usage): keyof TenantLimits | undefined {
  if (activeKeys !== undefined && keys >= activeKeys) return 'activeKeys'
  if (storedBytes !== undefined && (bytes >= storedBytes || keys >= limits.countedKeys)) return 'storedBytes'
  return undefined
}

function shareOf({ activeKeys, storedBytes }: TenantLimits, { keys, bytes }: Usage, underWay: number): Share {
  return {
    keys: partOf(activeKeys, keys + underWay),
    bytes: partOf(storedBytes, bytes),
    typicalBytes: keys === 0 ? 0 : bytes / keys,
  }
}

/** A share of the quota, at least one, and never more than what is left of it. */
function partOf(quota: number | undefined, used: number): number {
  if (quota === undefined) return Number.POSITIVE_INFINITY
  return Math.min(Math.max(1, Math.floor(quota * limits.quotaShare)), quota - used)
}

function exceeded(quota: keyof TenantLimits, retryAfterMs: number): HapaxError {
  const message = `${says[quota]} Room is made as keys expire. Retries of keys that are known are not held up by this.`
  return new HapaxError('quota_exceeded', message, { retryAfterMs })
}

const says: Readonly<Record<keyof TenantLimits, string>> = {
  activeKeys: 'The tenant holds as many active keys as it may.',
  storedBytes: 'The answers that are kept for the tenant take as many bytes as they may.',
}

function crowded(timeoutMs: number): HapaxError {
  const message = `Too many new keys of one tenant came at once; this one was not let in within ${timeoutMs} ms.`
  return new HapaxError('store_busy', message, { retryAfterMs: defaults.quotaHoldMs })
}

/** The store has just said that the key is new, so it is there: that it cannot count in time is no outage. */
function uncounted(error: unknown): never {
  if (!isHapaxError(error, 'idempotency_store_unavailable')) throw error
  throw limiterUnavailable('The keys of the tenant could not be counted, so nothing was run.', error)
}
