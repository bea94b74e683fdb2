import type { Clock } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { nowhere } from '../kernel/roster.js'
import { Stopping } from '../kernel/stopping.js'
import type { BoundedStore } from './bounded-store.js'
import type { Policy } from './policy.js'
import type { Due, Pulse } from './pulse.js'
import type { Claim } from './record.js'

/** Who is told how a lease ends. */
export interface Holder {
  /** The claim is lost. */
  lost(): void
  /** The handler runs for longer than it may. The claim is lost right after this. */
  overran(): void
}

export interface Surroundings {
  readonly store: Pick<BoundedStore, 'renew'>
  readonly clock: Clock
  readonly pulse: Pulse
}

/**
 * Renews a claim while its handler runs: three times per lease, so that one lost renewal costs nothing. Whether
 * the lease is over is for the store to say; here only the time since the last good renewal was *sent* counts, on
 * the monotonic clock and by a timer that no silent store holds up, so that this side gives up first.
 *
 * Every request has one, and most end before the first renewal: until then it is one object and has no timer of its own.
 */
export class Lease implements Due {
  readonly #claim: Claim
  readonly #policy: Policy
  readonly #around: Surroundings
  readonly #holder: Holder
  /** When the claim, or its last good renewal, was asked for, on the monotonic clock: the lease cannot have begun before. */
  #sentAt: number
  /** Stopped when the claim is lost, could not be renewed in time, was held for `maxRun`, or the engine shuts down. */
  readonly stopping = new Stopping()
  readonly startedAt: number
  place = nowhere
  #cancelRenewal = nothing
  #cancelExpiry = nothing
  #cancelMaxRun = nothing
  #isStopped = false

  constructor(claim: Claim, policy: Policy, askedAt: number, around: Surroundings, holder: Holder) {
    this.#claim = claim
    this.#policy = policy
    this.#around = around
    this.#holder = holder
    this.#sentAt = askedAt
    this.startedAt = around.clock.elapsed()
    around.pulse.add(this)
  }

  /** When it is renewed for the first time; a handler may run for a whole lease at least. */
  get dueAt(): number {
    return this.startedAt + this.#policy.leaseMs / 3
  }

  /** For how long nobody else can have this claim, as far as this side knows. */
  heldForMs(): number {
    return this.stopping.isStopped || this.#isStopped
      ? 0
      : this.#sentAt + this.#policy.leaseMs - this.#around.clock.elapsed()
  }

  /** A write of the holder's has renewed it, which was sent then. */
  renewedAt(sentAt: number): void {
    if (this.#isStopped || sentAt <= this.#sentAt) return
    // Until it is first due there is no timer to move.
    if (this.#cancelExpiry === nothing) this.#sentAt = sentAt
    else this.#expireAfter(sentAt)
  }

  /** Ends it for a reason that the handler hears. It may run on all the same, and whoever waits for it is told when it overruns. */
  end(reason: HapaxError): void {
    if (!this.#isStopped && this.#cancelMaxRun === nothing) this.#boundRun()
    this.#letGo()
    this.stopping.stop(reason)
  }

  /** The handler is over. */
  stop(): void {
    this.#letGo()
    this.#cancelMaxRun()
  }

  #letGo(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#around.pulse.remove(this)
    this.#cancelRenewal()
    this.#cancelExpiry()
  }

  due(): void {
    this.#boundRun()
    this.#expireAfter(this.#sentAt)
    void this.#renew()
  }

  #boundRun(): void {
    const leftMs = this.startedAt + this.#policy.maxRunMs - this.#around.clock.elapsed()
    this.#cancelMaxRun = this.#after(leftMs, () => {
      this.#holder.overran()
      this.#lose('The handler ran longer than maxRun.')
    })
  }

  #lose(message: string): void {
    if (this.#isStopped) return
    this.#holder.lost()
    this.end(new HapaxError('claim_lost', message))
  }

  #expireAfter(sentAt: number): void {
    const { clock } = this.#around
    this.#sentAt = sentAt
    this.#cancelExpiry()
    this.#cancelExpiry = this.#after(sentAt + this.#policy.leaseMs - clock.elapsed(), () =>
      this.#lose('The lease could not be renewed in time.'),
    )
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#around
    const { leaseMs } = this.#policy
    const sentAt = clock.elapsed()
    const state = await store.renew(this.#claim, leaseMs).then(
      (held) => (held ? 'held' : 'lost'),
      // A store that fails leaves the claim as it was.
      () => 'unsure',
    )
    if (this.#isStopped) return
    if (state === 'lost') return this.#lose('Another holder has this key now.')
    if (state === 'held') this.#expireAfter(sentAt)
    this.#cancelRenewal = this.#after(state === 'held' ? leaseMs / 3 : leaseMs / 10, () => void this.#renew())
  }

  /** What runs keeps the process alive by itself, or nobody waits for it. */
  #after(ms: number, callback: () => void): () => void {
    return this.#around.clock.after(Math.max(0, ms), callback, 'weakly')
  }
}

function nothing(): void {}
