import type { Store } from 'hapax'
import { type ConformanceCase, type StoreHarness, storeConformance } from 'hapax/conformance'
import { describe, expect, test } from 'vitest'
import { memoryHarness } from './memory-harness.js'
import { plantedAuditFaults, plantedEffectAuditFaults } from './planted-audit-faults.js'
import { type Plant, plantedFaults } from './planted-faults.js'
import { plantedTransactionFaults } from './planted-transaction-faults.js'
import { plantedWaitingFaults, plantedWorkFaults } from './planted-work-faults.js'
import { sqliteHarness } from './sqlite-harness.js'

const inMemory = [...plantedFaults, ...plantedWaitingFaults, ...plantedAuditFaults]
const inSqlite = [...plantedTransactionFaults, ...plantedWorkFaults, ...plantedEffectAuditFaults]

describe('the suite finds out a store that', () => {
  test.each(inMemory)('$fault', async ({ plant, caughtBy }) => {
    expect(await failures(storeConformance(sabotaged(memoryHarness, plant)))).toContain(caughtBy)
  })

  test.each(inSqlite)('$fault', async ({ plant, caughtBy }) => {
    const cases = storeConformance(sabotaged(sqliteHarness, plant)).filter(({ name }) => name === caughtBy)
    expect(await failures(cases)).toEqual([caughtBy])
  })
})

test('the suite finds nothing wrong with a store in which no fault is planted', async () => {
  const caught = new Set(inSqlite.map(({ caughtBy }) => caughtBy))
  const onSqlite = storeConformance(sabotaged(sqliteHarness, () => ({}))).filter(({ name }) => caught.has(name))
  expect(onSqlite).toHaveLength(caught.size)
  expect(await failures([...storeConformance(sabotaged(memoryHarness, () => ({}))), ...onSqlite])).toEqual([])
})

function sabotaged<Tx>(harness: StoreHarness<Tx>, plant: Plant<Tx>): StoreHarness<Tx> {
  return {
    ...harness,
    async fresh() {
      const bench = await harness.fresh()
      const good = new Map<Store<Tx>, Store<Tx>>()
      let now = 0
      const set = async (ms: number) => {
        now = ms
        await bench.setTime(ms)
      }
      return {
        ...bench,
        setTime: set,
        async open() {
          const store = await bench.open()
          const faulty = { ...store, ...plant(store, { now: () => now, set }) }
          good.set(faulty, store)
          return faulty
        },
        cut: async (store) => bench.cut?.(good.get(store) ?? store),
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
