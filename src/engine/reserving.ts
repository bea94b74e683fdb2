import { backoffMs } from '../kernel/backoff.js'
import { sleep, within } from '../kernel/clock.js'
import { HapaxError } from '../kernel/errors.js'
import { backoffs } from '../kernel/limits.js'
import type { Context } from './context.js'
import type { Fingerprint } from './fingerprint/fingerprint.js'
import type { Guarded } from './guarded.js'
import type { Judged, Reservation, Verdict } from './verdict.js'

/**
 * Asks the store for the key, within the store's time-out in all. A reply that was lost is asked for again under
 * the same claim id, which the store recognises. A record whose fingerprint was made by another recipe is compared
 * under that recipe; one that this release cannot make is an error, never a mismatch.
 */
export async function reserve<Tx>(context: Context<Tx>, guarded: Guarded<Tx>, current: Fingerprint): Promise<Judged> {
  const { policy, source } = guarded
  const reservation = reservationOf(guarded, context.chance.id(), [current])
  const verdict = await ask(context, reservation)
  if (verdict.kind !== 'incomparable') return verdict
  const older = policy.fingerprinter.under(verdict.recipe, source)
  if (older === undefined) throw unknownRecipe(verdict.recipe)
  const again = await ask(context, { ...reservation, fingerprints: [current, older] })
  if (again.kind === 'incomparable') throw unknownRecipe(again.recipe)
  return again
}

async function ask<Tx>(context: Context<Tx>, reservation: Reservation): Promise<Verdict> {
  const { clock, store, storeTimeoutMs } = context
  const startedAt = clock.elapsed()
  try {
    return await store.reserve(reservation)
  } catch (error) {
    const leftMs = storeTimeoutMs - (clock.elapsed() - startedAt)
    try {
      if (leftMs <= 0) throw error
      return await within(clock, leftMs, store.reserve(reservation), () => error as Error)
    } catch {
      void context.background.track(abandon(context, reservation))
      throw error
    }
  }
}

/**
 * Nothing ran, yet the reservation may stand. Left alone it would turn into a doubt about nothing, so it is looked
 * for and taken back, until its lease would be over anyway.
 */
async function abandon<Tx>(context: Context<Tx>, reservation: Reservation): Promise<void> {
  const { clock, chance, store, background } = context
  const deadline = clock.elapsed() + reservation.leaseMs
  for (let attempt = 1; clock.elapsed() < deadline && !background.ended.aborted; attempt++) {
    await sleep(clock, backoffMs(backoffs.storing, attempt, chance), background.ended)
    try {
      const record = await store.find(reservation)
      if (record?.claimId === reservation.claimId) await store.release(record)
      return
    } catch {
      // The store is still down: the next round tries again.
    }
  }
}

function reservationOf<Tx>(
  guarded: Guarded<Tx>,
  claimId: string,
  fingerprints: Reservation['fingerprints'],
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
  }
}

function unknownRecipe(recipe: string): HapaxError {
  return new HapaxError(
    'fingerprint_recipe_unknown',
    `The stored fingerprint was made by recipe "${recipe}", which this release cannot make. Finish the deploy, or list the former recipe in the policy.`,
  )
}
