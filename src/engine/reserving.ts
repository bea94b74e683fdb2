import { HapaxError, invariant, isHapaxError } from '../kernel/errors.js'
import { admissionOf } from './admission.js'
import type { Context } from './context.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import type { Judged, Reservation, Verdict } from './verdict.js'

/** The verdict, and when it was asked for on the monotonic clock: a lease cannot have begun before that. */
export interface Asked {
  readonly verdict: Judged
  readonly askedAt: number
}

/**
 * Asks the store for the key. Where somebody may be turned away, it asks first whether the key would be new: whoever
 * comes with a known one is let through, and whoever is turned away has changed nothing.
 */
export async function reserve<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, current: Fingerprint): Promise<Asked> {
  const { clock, chance } = context
  const admission = admissionOf(context, guarded)
  const claimId = chance.id()
  if (admission !== undefined) {
    const askedAt = clock.elapsed()
    const reservation = reservationOf(guarded, claimId, [current], 'tell')
    const verdict = await compared(context, guarded, reservation)
    if (verdict.kind !== 'new') return { verdict, askedAt }
    await admission()
  }
  const askedAt = clock.elapsed()
  const verdict = await compared(context, guarded, reservationOf(guarded, claimId, [current], 'take'))
  invariant(verdict.kind !== 'new', 'a key that may be taken is taken')
  return { verdict, askedAt }
}

/**
 * A record whose fingerprint was made by another recipe is compared under that recipe; one that this release cannot
 * make is an error, never a mismatch.
 */
async function compared<Tx>(
  context: Context<Tx>,
  { policy, source }: Guarded<Tx>,
  reservation: Reservation,
): Promise<Judged | IsNew> {
  const verdict = await ask(context, reservation)
  if (verdict.kind !== 'incomparable') return verdict
  const older = policy.fingerprinter.under(verdict.recipe, source)
  if (older === undefined) throw unknownRecipe(verdict.recipe)
  const [current] = reservation.fingerprints
  const again = await ask(context, { ...reservation, fingerprints: [current, older] })
  if (again.kind === 'incomparable') throw unknownRecipe(again.recipe)
  return again
}

type IsNew = Extract<Verdict, { readonly kind: 'new' }>

/** A reply that was lost is asked for again, once, under the same claim id, which the store recognises. */
async function ask<Tx>(
  { store, clock, storeTimeoutMs, abandoned }: Context<Tx>,
  reservation: Reservation,
): Promise<Verdict> {
  const startedAt = clock.elapsed()
  try {
    return await store.reserve(reservation)
  } catch (error) {
    // Only here the reservation may stand: any other error says that nothing happened.
    if (!isHapaxError(error, 'idempotency_store_unavailable')) throw error
    const isTimeLeft = clock.elapsed() - startedAt < storeTimeoutMs
    const second = isTimeLeft ? await store.reserve(reservation).catch(() => undefined) : undefined
    if (second !== undefined) return second
    abandoned.add(reservation)
    throw error
  }
}

function reservationOf<Tx>(
  guarded: Guarded<Tx>,
  claimId: string,
  fingerprints: Reservation['fingerprints'],
  onNew: Reservation['onNew'],
): Reservation {
  const { scope, key, policy } = guarded
  return {
    scope,
    key,
    claimId,
    fingerprints,
    operation: policy.name,
    leaseMs: policy.leaseMs,
    retentionMs: policy.retentionMs,
    tombstoneMs: policy.tombstoneMs,
    onLeaseOver: policy.onCrash === 'retry' ? 'resume' : 'doubt',
    onExpired: policy.onExpired,
    onNew,
  }
}

function unknownRecipe(recipe: string): HapaxError {
  return new HapaxError(
    'fingerprint_recipe_unknown',
    `The stored fingerprint was made by recipe "${recipe}", which this release cannot make. Finish the deploy, or list the former recipe in the policy.`,
  )
}
