import { type Freshness, type Profile, profiles } from 'hapax'
import type { Settings } from '../settings.js'
import { everyRoute } from '../web/keys.js'

/** What payments say of their keys, whether a card is charged or not. */
export function everyPayment(settings: Pick<Settings, 'keys' | 'keyOwner' | 'paymentsProfile'>) {
  const profile = contracts[settings.paymentsProfile]
  return { ...everyRoute(settings), profile, statusAt: '/idempotency/status' } as const
}

/**
 * `boundary` has no short keys, keeps answers for two days, and takes a failure that nobody has explained for a doubt. Its
 * errors are told as all others of this API: they have the `code` that it asks for.
 */
const contracts: Readonly<Record<Settings['paymentsProfile'], Profile>> = {
  ietf: profiles.ietf,
  boundary: { ...profiles.boundary, problem: profiles.ietf.problem },
}

/** Whoever intercepts a request and waits until its key is forgotten is told by its own date. */
export function freshnessOf({ firstSent }: Pick<Settings, 'firstSent'>): { readonly freshness?: Freshness } {
  return firstSent === 'required' ? { freshness: { by: 'header', name: 'Repeatability-First-Sent' } } : {}
}
