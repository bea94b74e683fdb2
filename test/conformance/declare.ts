import { type StoreHarness, storeConformance } from 'hapax/conformance'
import { describe, test } from 'vitest'

/** Hands every case of the suite to vitest; a skipped one says why in its title. */
export function declareConformance<Tx>(harness: StoreHarness<Tx>): void {
  describe(`the ${harness.name} store`, () => {
    for (const { name, skip, run } of storeConformance(harness)) {
      if (skip === undefined) test(name, run)
      else test.skip(`${name} (skipped: ${skip})`, run)
    }
  })
}
