import type { Store } from 'hapax'
import { type ConformanceCase, type StoreHarness, storeConformance } from 'hapax/conformance'
import { expect, test } from 'vitest'
import { memoryHarness } from '../conformance/memory-harness.js'

/** Fingerprint, lock and recovery point: the suite that every store must pass misses each of them. */

type Part = 'the fingerprint check' | 'the lock of what is in progress' | 'the recovery point'

/** A store from which one part is taken out. */
const without: Readonly<Record<Part, (store: Store<never>) => Partial<Store<never>>>> = {
  'the fingerprint check': (store) => ({
    async reserve(asked) {
      const record = await store.find(asked)
      return store.reserve(record === undefined ? asked : { ...asked, fingerprints: [record.fingerprint] })
    },
  }),
  'the lock of what is in progress': (store) => ({
    async reserve(asked) {
      const verdict = await store.reserve(asked)
      if (verdict.kind !== 'in_progress') return verdict
      const record = await store.find(asked)
      return record === undefined ? verdict : { kind: 'reserved', claim: record, record }
    },
  }),
  'the recovery point': (store) => ({
    checkpoint: (claim, checkpoint) => store.checkpoint(claim, { ...checkpoint, recoveryPoint: 'started' }),
  }),
}

const parts = Object.keys(without) as Part[]

test.each(parts)('without %s the suite fails, and with all three it does not [S3-04]', async (part) => {
  const found = await failures(storeConformance(changed(without[part])))
  expect(found.length).toBeGreaterThan(0)
  // What fails is what is missing, and the same cases pass on the whole store.
  const cases = storeConformance(changed(() => ({}))).filter(({ name }) => found.includes(name))
  expect(cases).toHaveLength(found.length)
  expect(await failures(cases)).toEqual([])
})

test('with all three nothing of the suite fails [S3-04]', async () => {
  expect(await failures(storeConformance(memoryHarness))).toEqual([])
})

function changed(change: (store: Store<never>) => Partial<Store<never>>): StoreHarness {
  return {
    ...memoryHarness,
    async fresh() {
      const bench = await memoryHarness.fresh()
      return {
        ...bench,
        async open() {
          const store = await bench.open()
          return { ...store, ...change(store) }
        },
      }
    },
  }
}

async function failures(cases: readonly ConformanceCase[]): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { name, skip, run } of cases) {
    if (skip === undefined) await run().catch(() => failed.push(name))
  }
  return failed
}
