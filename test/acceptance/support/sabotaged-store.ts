import { type Store, systemClock } from 'hapax'
import { type StoreHarness, storeConformance } from 'hapax/conformance'
import { memoryStore } from 'hapax/memory'
import { memoryHarness } from '../../conformance/memory-harness.js'

/** A good store with methods replaced by bad ones, to see whether the conformance suite finds it out. */

/** What replaces a method of a good store, given that store. */
export type Sabotage = { readonly [Method in keyof Store]?: (good: Store) => Store[Method] }

/** The promises of the conformance suite that a store breaks once these methods are replaced. */
export async function sabotaged(sabotage: Sabotage): Promise<readonly string[]> {
  const broken: string[] = []
  for (const { name, skip, run } of storeConformance(harnessOf(sabotage))) {
    if (skip === undefined) await run().catch(() => broken.push(name))
  }
  return broken
}

function harnessOf(sabotage: Sabotage): StoreHarness {
  return {
    ...memoryHarness,
    async fresh() {
      let now = 0
      const good = memoryStore({ clock: { ...systemClock, now: () => now } })
      const replaced = Object.entries(sabotage).map(([method, replace]) => [method, replace(good)])
      const store: Store = { ...good, ...Object.fromEntries(replaced) }
      return {
        open: async () => store,
        async setTime(ms) {
          now = ms
        },
        async dispose() {},
      }
    },
  }
}
