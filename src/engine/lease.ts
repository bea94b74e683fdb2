import type { Clock } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import type { Background } from './background.js'
import type { BoundedStore } from './bounded-store.js'
import type { Policy } from './policy.js'
import type { Claim } from './record.js'

/** A lease that is being kept. */
export interface Lease {
  /**
   * Aborts when the claim is lost, could not be renewed in time, was held for `maxRun`, or the engine shuts down. Made
   * when it is first asked for: a signal costs more than all the rest of a lease, and few handlers look at it.
   */
  readonly signal: AbortSignal
  /** Whether the signal has aborted, or would have. */
  isOver(): boolean
  stop(): void
}

export interface Surroundings {
  readonly store: BoundedStore
  readonly clock: Clock
  /** When the claim was asked for, on the monotonic clock: the lease cannot have begun before. */
  readonly askedAt: number
  readonly background: Background
  readonly onLost: () => void
  /** Told when the handler runs for longer than it may. */
  readonly onOverrun: () => void
}

/**
 * Renews a claim while its handler runs: three times per lease, so that one lost renewal costs nothing. Whether
 * the lease is over is for the store to say; here only the time since the last good renewal was *sent* counts, on
 * the monotonic clock and by a timer that no silent store holds up, so that this side gives up first.
 */
export function keepLease(claim: Claim, { leaseMs, maxRunMs }: Policy, around: Surroundings): Lease {
  const { store, clock, askedAt, background, onLost, onOverrun } = around
  let isStopped = false
  let reason: HapaxError | undefined
  let controller: AbortController | undefined

  const lose = (message: string) => {
    if (isStopped) return
    onLost()
    end(new HapaxError('claim_lost', message))
  }
  const end = (why: HapaxError) => {
    stop()
    reason = why
    controller?.abort(why)
  }
  const expireAfter = (sentAt: number) =>
    clock.after(Math.max(0, sentAt + leaseMs - clock.elapsed()), () => lose('The lease could not be renewed in time.'))

  const renewAfter = (ms: number) => clock.after(ms, () => void renew())

  async function renew(): Promise<void> {
    const sentAt = clock.elapsed()
    const state = await store.renew(claim, leaseMs).then(
      (held) => (held ? 'held' : 'lost'),
      // A store that fails leaves the claim as it was.
      () => 'unsure',
    )
    if (isStopped) return
    if (state === 'lost') return lose('Another holder has this key now.')
    if (state === 'held') {
      cancelExpiry()
      cancelExpiry = expireAfter(sentAt)
    }
    cancelRenewal = renewAfter(state === 'held' ? leaseMs / 3 : leaseMs / 10)
  }

  /** Most handlers end before the first renewal, so until then there is one timer. */
  const begin = () => {
    const leftMs = startedAt + maxRunMs - clock.elapsed()
    cancelMaxRun = clock.after(Math.max(0, leftMs), () => {
      onOverrun()
      lose('The handler ran longer than maxRun.')
    })
    cancelExpiry = expireAfter(askedAt)
    void renew()
  }

  const startedAt = clock.elapsed()
  let cancelMaxRun = () => {}
  let cancelExpiry = () => {}
  let cancelRenewal = clock.after(Math.min(leaseMs / 3, maxRunMs), begin)
  const cancelEnd = background.onEnd(() => end(new HapaxError('engine_closed')))

  const stop = () => {
    if (isStopped) return
    isStopped = true
    cancelExpiry()
    cancelRenewal()
    cancelMaxRun()
    cancelEnd()
  }

  return {
    get signal() {
      controller ??= new AbortController()
      if (reason !== undefined) controller.abort(reason)
      return controller.signal
    },
    isOver: () => reason !== undefined,
    stop,
  }
}
