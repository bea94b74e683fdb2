import { storeConformance } from 'hapax/conformance'
import { expect, test } from 'vitest'
import { memoryHarness } from './memory-harness.js'
import { postgresHarness } from './postgres-harness.js'
import { pgLibrary } from './postgres-libraries.js'
import { sqliteHarness } from './sqlite-harness.js'

/**
 * Which store may skip which promise. A skip that is not written here fails the run, and so does one that is
 * written here but no longer needed.
 */
const allowed = {
  memory: [
    'a transaction that completes shows its row and its answer together',
    'a transaction that ends a phase shows its row and its recovery point together',
    'until it commits, nobody else sees anything of a transaction',
    'a transaction whose body throws leaves nothing, and throws the same',
    'after a transaction that was rolled back the same claim may try again',
    'a claim whose lease was taken over commits nothing in a transaction',
    'a claim of a released record commits nothing in a transaction',
    'a claim of an expired generation commits nothing in a transaction',
    'a transaction that is repeated after it committed commits nothing more, and its answer stands',
    'a claim in doubt ends no phase in a transaction',
    'the last claim may complete a doubt in a transaction, with its row',
    'transactions of many claims at once each commit their own row and record',
    'every operation on a cut connection fails with a typed error, and the store comes back',
    'a cut connection leaves each record as it was or as it was to be',
    'a reservation that was cut off is the same claim when it is sent again',
    'a completion that was cut off can be repeated',
    'another node does not notice that a connection was cut',
    'a connection cut before COMMIT leaves neither row nor answer',
    'a connection cut around COMMIT leaves row and answer, or neither',
    'after a transaction was cut off the same claim may try again',
  ],
}

test('the memory store skips what it is allowed to skip, and nothing else', () => {
  expect(skippedBy(storeConformance(memoryHarness))).toEqual(allowed.memory)
})

test('the sqlite store skips nothing', () => {
  expect(skippedBy(storeConformance(sqliteHarness))).toEqual([])
})

test('the postgres store skips nothing', () => {
  const nowhere = { serverUrl: '', url: '', connection: 'direct' } as const
  expect(skippedBy(storeConformance(postgresHarness({ name: 'postgres', library: pgLibrary, ...nowhere })))).toEqual([])
})

test('no two promises of the suite share a name', () => {
  const names = storeConformance(memoryHarness).map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})

test('a harness that neither offers a capability nor says why not is told so', async () => {
  const silent = { ...memoryHarness, lacks: {} }
  const needy = storeConformance(silent).filter(({ name }) => allowed.memory.includes(name))
  expect(needy).toHaveLength(allowed.memory.length)
  for (const { run } of needy) await expect(run()).rejects.toThrow(/neither offers "(transactions|cut)" nor says/)
})

function skippedBy(cases: ReturnType<typeof storeConformance>): readonly string[] {
  return cases.filter(({ skip }) => skip !== undefined).map(({ name }) => name)
}
