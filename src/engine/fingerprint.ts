declare const brand: unique symbol

/** `recipe:hex`. Carries the recipe it was made by, so that two releases never compare what cannot be compared. */
export type Fingerprint = string & { readonly [brand]: 'Fingerprint' }

/** What a fingerprint is computed over. */
export interface FingerprintSource {
  /** Method and path of a request, or the name of an operation; each part is hashed apart. */
  readonly subject: readonly string[]
  readonly mediaType: string | undefined
  readonly body: Uint8Array
  /** Only read by the strategies that name a header. Names in lower case. */
  readonly header?: (name: string) => string | undefined
}

/** Makes fingerprints under one strategy, and under the recipes that older records may hold. */
export interface Fingerprinter {
  of(source: FingerprintSource): Fingerprint
  /** The same request under the recipe of a stored record; `undefined` when this release does not know it. */
  under(recipe: string, source: FingerprintSource): Fingerprint | undefined
}

export function recipeOf(fingerprint: Fingerprint): string {
  return fingerprint.slice(0, fingerprint.lastIndexOf(':'))
}
