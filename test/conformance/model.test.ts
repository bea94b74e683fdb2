import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { type Claim, nextState, type Store, type StoredRecord } from 'hapax'
import type { StoreBench, StoreHarness } from 'hapax/conformance'
import { expect, onTestFinished, test } from 'vitest'
import { isExpired } from '../../dist/engine/transitions.js'
import { noRedis, redisBinary, startRedis } from '../support/redis-server.js'
import { memoryHarness } from './memory-harness.js'
import { aStep, callOf, type History, happeningsOf, type ModelStep, names, type Standing } from './model-steps.js'
import { postgresHarness } from './postgres-harness.js'
import { pgLibrary, postgresJs } from './postgres-libraries.js'
import { direct } from './postgres-ways.js'
import { redisHarness } from './redis-harness.js'
import { ioredis } from './redis-libraries.js'
import { simulatedHarness } from './simulated-harness.js'
import { sqliteHarness } from './sqlite-harness.js'

/**
 * Random histories of the port. The memory store is the model: every other store must say and hold the same after
 * each step, and whatever happens must be a row of the state table. A failure prints its seed and its shortest
 * history; give both to `fc.assert` to see it again.
 */

test('whatever happens to the memory store is in the state table', async () => {
  await fc.assert(
    fc.asyncProperty(histories, (steps) => playTogether([memoryHarness], steps)),
    { numRuns: 200 },
  )
})

test('the simulated store says and holds at every step what the memory store does', async () => {
  await fc.assert(
    fc.asyncProperty(histories, (steps) => playTogether([memoryHarness, simulatedHarness], steps)),
    { numRuns: 200 },
  )
})

// Each run is a new file, a new thread and an fsync per step, so there are fewer.
test('the sqlite store says and holds at every step what the memory store does', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(histories, (steps) => playTogether([memoryHarness, sqliteHarness], steps)),
    { numRuns: 25 },
  )
})

const toPostgres = direct()

const postgresTitle = 'the postgres store says and holds at every step what the memory store does'
if ('missing' in toPostgres) test.skip(`${postgresTitle} (skipped: ${toPostgres.missing})`, () => {})
else
  test.each([
    postgresHarness({ name: 'by pg', library: pgLibrary, ...toPostgres }),
    postgresHarness({ name: 'by postgres.js', library: postgresJs, ...toPostgres }),
    postgresHarness({ name: 'by pg under row security', library: pgLibrary, ...toPostgres, rowSecurity: 'scope' }),
  ] as StoreHarness<unknown>[])(`${postgresTitle}, $name`, { timeout: 120_000 }, async (harness) => {
    await fc.assert(
      fc.asyncProperty(histories, (steps) => playTogether([memoryHarness, harness], steps)),
      { numRuns: 15 },
    )
  })

const redisTitle = 'the redis store says and holds at every step what the memory store does'
if (redisBinary === undefined) test.skip(`${redisTitle} (skipped: ${noRedis})`, () => {})
else
  test(redisTitle, { timeout: 120_000 }, async () => {
    const server = await startRedis()
    onTestFinished(() => server.end())
    const harness = redisHarness(ioredis, () => server.port)
    await fc.assert(
      fc.asyncProperty(histories, (steps) => playTogether([memoryHarness, harness], steps)),
      { numRuns: 100 },
    )
  })

const histories = fc.array(aStep, { minLength: 10, maxLength: 30, size: 'max' })

async function playTogether(harnesses: readonly StoreHarness<unknown>[], steps: readonly ModelStep[]): Promise<void> {
  const benches = await Promise.all(harnesses.map((harness) => harness.fresh()))
  const stores = await Promise.all(benches.map((bench) => bench.open()))
  try {
    await playHistory(benches, stores, steps)
  } finally {
    for (const store of stores) await store.close()
    for (const bench of benches) await bench.dispose()
  }
}

async function playHistory(
  benches: readonly StoreBench<unknown>[],
  stores: readonly Store<unknown>[],
  steps: readonly ModelStep[],
): Promise<void> {
  const history: History = { claims: [], lastClaimId: 0 }
  let now = 1_000_000
  for (const bench of benches) await bench.setTime(now)
  let before = await recordsOf(stores)
  for (const step of steps) {
    if (step.kind === 'wait') {
      now += step.ms
      for (const bench of benches) await bench.setTime(now)
      continue
    }
    const call = callOf(step, history)
    if (call === undefined) continue
    const results = await Promise.all(stores.map(call))
    const after = await recordsOf(stores)
    for (const result of results) expect(comparable(result)).toEqual(comparable(results[0]))
    obeysTheTable(step, before, after, now)
    keepClaim(history, results[0])
    before = after
  }
}

/** What all stores hold under each name, once it is shown that they hold the same. */
async function recordsOf(stores: readonly Store<unknown>[]): Promise<readonly (StoredRecord | undefined)[]> {
  const [model = [], ...others] = await Promise.all(
    stores.map((store) => Promise.all(names.map((name) => store.find(name)))),
  )
  for (const other of others) expect(comparable(other)).toEqual(comparable(model))
  return model
}

function obeysTheTable(
  step: Exclude<ModelStep, { kind: 'wait' }>,
  before: readonly (StoredRecord | undefined)[],
  after: readonly (StoredRecord | undefined)[],
  now: number,
): void {
  for (const [index, was] of before.entries()) {
    const is = after[index]
    if (isDeepStrictEqual(comparable(was), comparable(is))) continue
    const leads = happeningsOf[step.kind].flatMap((on) => standingsOf(was, now).map((from) => nextState(from, on)))
    expect(leads, `${step.kind} changed ${was?.state} to ${is?.state}`).toContain(is?.state ?? 'none')
    if (was === undefined || is === undefined) continue
    expect(is.fence).toBeGreaterThanOrEqual(was.fence)
    expect(is.generation).toBeGreaterThanOrEqual(was.generation)
    expect(is.id).toBe(was.id)
  }
}

/** As what a record may be met: as what it says, and, past its retention, as expired though nobody buried it. */
function standingsOf(record: StoredRecord | undefined, now: number): readonly Standing[] {
  if (record === undefined) return ['none']
  return isExpired(record, now) ? [record.state, 'expired'] : [record.state]
}

function keepClaim(history: History, result: unknown): void {
  const claim = (result as { readonly claim?: Claim }).claim
  if (claim !== undefined) history.claims.push(claim)
}

/** Bytes as bytes, whatever class they come in; absent as absent; ids are each store's own. */
function comparable(value: unknown): unknown {
  if (value instanceof Uint8Array) return { bytes: [...value] }
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name, inner]) => name !== 'id' && inner !== undefined)
  return Object.fromEntries(kept.map(([name, inner]) => [name, comparable(inner)]))
}
