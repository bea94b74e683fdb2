import { type HttpHarness, httpConformance } from 'hapax/conformance'
import { describe, test } from 'vitest'

/** Hands every case of the suite to vitest. */
export function declareHttpConformance(harness: HttpHarness): void {
  describe(`the ${harness.name} adapter`, () => {
    for (const { name, run } of httpConformance(harness)) test(name, { timeout: 30_000 }, run)
  })
}
