import { type Store, systemClock } from 'hapax'
import { type StoreHarness, storeConformance } from 'hapax/conformance'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { memoryHarness } from './memory-harness.js'
import { type PlantedFault, plantedFaults } from './planted-faults.js'

describe('the suite finds out a store that', () => {
  test.each(plantedFaults)('$fault', async ({ plant, caughtBy }) => {
    expect(await failures(sabotaged(plant))).toContain(caughtBy)
  })
})

test('the suite finds nothing wrong with a store in which no fault is planted', async () => {
  expect(await failures(sabotaged(() => ({})))).toEqual([])
})

function sabotaged(plant: PlantedFault['plant']): StoreHarness {
  return {
    ...memoryHarness,
    async fresh() {
      const time = { now: 0 }
      const good = memoryStore({ clock: { ...systemClock, now: () => time.now } })
      const store: Store = { ...good, ...plant(good, time) }
      return {
        open: async () => store,
        async setTime(ms) {
          time.now = ms
        },
        async dispose() {},
      }
    },
  }
}

async function failures(harness: StoreHarness): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { name, skip, run } of storeConformance(harness)) {
    if (skip !== undefined) continue
    await run().catch(() => failed.push(name))
  }
  return failed
}
