import { type Claim, keyOf, type Reservation, type Store, type Verdict } from 'hapax'
import { reservation as asked } from '../../dist/conformance/given.js'

/** Requests as the conformance suite makes them, each named by its key. */

export function reservation(key: string, changes: Partial<Reservation> = {}): Reservation {
  return asked({ key: keyOf(key), ...changes })
}

/** Takes the key, which must be free to take. */
export async function claimed(
  store: Pick<Store, 'reserve'>,
  key: string,
  changes: Partial<Reservation> = {},
): Promise<Claim> {
  return claimOf(await store.reserve(reservation(key, changes)))
}

export function claimOf(verdict: Verdict): Claim {
  if (verdict.kind === 'reserved' || verdict.kind === 'resumed') return verdict.claim
  throw new Error(`The key was not won: ${verdict.kind}`)
}
