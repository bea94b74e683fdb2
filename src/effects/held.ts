import type { EffectKind } from '../engine/effect-definition.js'
import type { EffectClaim, StoredEffect } from '../engine/effect-store.js'
import { Stopping } from '../kernel/stopping.js'
import type { Age } from './deciding.js'

/** An effect that this worker has leased. */
export interface Held {
  readonly effect: StoredEffect
  readonly kind: EffectKind
  readonly claim: EffectClaim
  /** When its claim was asked for, on the monotonic clock. */
  readonly askedAt: number
  /** What the store's clock showed then, at the earliest. */
  readonly claimedAt: number
  /** Before this, on the monotonic clock, the lease is not over. */
  endsAt: number
  /** Another holder has it, or may have it. */
  isLost: boolean
  /** Ends the call that runs. */
  readonly stopping: Stopping
}

export function heldOf(effect: StoredEffect, kind: EffectKind, askedAt: number, leaseMs: number): Held {
  return {
    effect,
    kind,
    claim: { id: effect.id, fence: effect.fence },
    askedAt,
    // A store that leases says until when, so its time is known without asking for it.
    claimedAt: (effect.leaseUntil ?? 0) - leaseMs,
    endsAt: askedAt + leaseMs,
    isLost: false,
    stopping: new Stopping(),
  }
}

/** Counted from before the claim was sent: an effect is never taken to be younger than it is. */
export function ageOf({ effect, askedAt, claimedAt }: Held, elapsed: number): Age {
  const storeTime = claimedAt + (elapsed - askedAt)
  const { createdAt, firstStartedAt = claimedAt } = effect
  return {
    sinceCreatedMs: storeTime - createdAt,
    sinceFirstStartedMs: storeTime - firstStartedAt,
    isClaimedBefore: firstStartedAt < claimedAt,
  }
}
