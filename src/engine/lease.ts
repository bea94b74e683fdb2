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
  /** When the claim was asked for, on the monotonic clock: the lease cannot have begun before. */
  readonly askedAt: number
  /** Aborts when the engine no longer waits for what runs. */
  readonly ended: AbortSignal
  readonly onLost: () => void
}

/**
 * Renews a claim while its handler runs: three times per lease, so that one lost renewal costs nothing. Whether
 * the lease is over is for the store to say; here only the time since the last good renewal was *sent* counts, on
 * the monotonic clock and by a timer that no silent store holds up, so that this side gives up first.
 */
export function keepLease(claim: Claim, { leaseMs, maxRunMs }: Policy, around: Surroundings): Lease {
  const { store, clock, askedAt, ended, onLost } = around
  const lost = new AbortController()
  const stopped = new AbortController()

  const lose = (message: string) => {
    if (stopped.signal.aborted) return
    onLost()
    stop()
    lost.abort(new HapaxError('claim_lost', message))
  }
  const expireAfter = (sentAt: number) =>
    clock.after(Math.max(0, sentAt + leaseMs - clock.elapsed()), () => lose('The lease could not be renewed in time.'))

  let cancelExpiry = expireAfter(askedAt)
  const cancelMaxRun = clock.after(maxRunMs, () => lose('The handler ran longer than maxRun.'))
  const end = () => {
    stop()
    lost.abort(new HapaxError('engine_closed'))
  }
  ended.addEventListener('abort', end, { once: true })

  const stop = () => {
    cancelExpiry()
    cancelMaxRun()
    ended.removeEventListener('abort', end)
    stopped.abort()
  }

  /** The claim's state after one try to renew it. A store that fails leaves it as it was. */
  async function renewOnce(): Promise<'held' | 'lost' | 'unsure'> {
    const sentAt = clock.elapsed()
    try {
      if (!(await store.renew(claim, leaseMs))) return 'lost'
    } catch {
      return 'unsure'
    }
    if (!stopped.signal.aborted) {
      cancelExpiry()
      cancelExpiry = expireAfter(sentAt)
    }
    return 'held'
  }

  async function keep(): Promise<void> {
    let pauseMs = leaseMs / 3
    for (;;) {
      await sleep(clock, pauseMs, stopped.signal)
      if (stopped.signal.aborted) return
      const state = await renewOnce()
      if (state === 'lost') return lose('Another holder has this key now.')
      pauseMs = state === 'held' ? leaseMs / 3 : leaseMs / 10
    }
  }

  if (ended.aborted) end()
  else void keep()
  return { signal: lost.signal, stop }
}
