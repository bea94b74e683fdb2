import { timingSafeEqual } from 'node:crypto'

declare const brand: unique symbol

/** `recipe:hex`. Carries the recipe it was made by, so that two releases never compare what cannot be compared. */
export type Fingerprint = string & { readonly [brand]: 'Fingerprint' }

/** The recipe a fingerprint was made by. */
export function recipeOf(fingerprint: Fingerprint): string {
  return fingerprint.slice(0, fingerprint.lastIndexOf(':'))
}

/** Compares in constant time, so that nobody learns a stored fingerprint from how long a refusal takes. */
export function equalFingerprints(a: Fingerprint, b: Fingerprint): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.byteLength === right.byteLength && timingSafeEqual(left, right)
}
