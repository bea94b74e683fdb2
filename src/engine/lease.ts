import { type Clock, sleep } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import type { BoundedStore } from './bounded-store.js'
import type { Policy } from './policy.js'
import type { Claim } from './record.js'

/** A lease that is being kept. */
export interface Lease {
  /** Aborts when the claim is lost, could not be renewed in time, was held for `maxRun`, or the engine shuts down. */
  readonly signal: AbortSignal
  stop(): void
}

export interface Surroundings {
  readonly store: BoundedStore
  readonly clock: Clock
  /** Aborts when the engine no longer waits for what runs. */
  readonly ended: AbortSignal
  readonly onLost: () => void
}

/**
 * Renews a claim while its handler runs: three times per lease, so that one lost renewal costs nothing. Whether
 * the lease is over is for the store to say; here only the time since the last renewal was *sent* is counted, on
 * the monotonic clock, so that this side gives up first.
 */
export function keepLease(claim: Claim, policy: Policy, around: Surroundings): Lease {
  const { store, clock, ended, onLost } = around
  const lost = new AbortController()
  const stopped = new AbortController()
  const startedAt = clock.elapsed()
  let renewedAt = startedAt

  const lose = (message: string) => {
    if (stopped.signal.aborted) return
    stopped.abort()
    onLost()
    lost.abort(new HapaxError('claim_lost', message))
  }

  /** The claim's state after one try to renew it. A store that fails leaves it as it was. */
  async function renewOnce(): Promise<'held' | 'lost' | 'unsure'> {
    const sentAt = clock.elapsed()
    try {
      if (!(await store.renew(claim, policy.leaseMs))) return 'lost'
      renewedAt = sentAt
      return 'held'
    } catch {
      return 'unsure'
    }
  }

  async function keep(): Promise<void> {
    let pauseMs = policy.leaseMs / 3
    while (!stopped.signal.aborted) {
      await sleep(clock, pauseMs, stopped.signal)
      if (stopped.signal.aborted) return
      if (clock.elapsed() - startedAt >= policy.maxRunMs) return lose('The handler ran longer than maxRun.')
      const state = await renewOnce()
      if (state === 'lost') return lose('Another holder has this key now.')
      if (clock.elapsed() - renewedAt >= policy.leaseMs) return lose('The lease could not be renewed in time.')
      pauseMs = state === 'held' ? policy.leaseMs / 3 : policy.leaseMs / 10
    }
  }

  const end = () => lose('The engine is shutting down.')
  ended.addEventListener('abort', end, { once: true })
  stopped.signal.addEventListener('abort', () => ended.removeEventListener('abort', end), { once: true })
  void keep()
  return { signal: lost.signal, stop: () => stopped.abort() }
}
