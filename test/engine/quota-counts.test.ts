import { defaults, limits, type Store } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { quotaCounts } from '../../src/engine/quota-counts.js'
import { emitter } from '../../src/kernel/events.js'
import { bench } from '../support/bench.js'
import { manualClock } from '../support/manual-clock.js'
import { benchWith, isDone, keysOf, run, runs } from '../support/quota-bench.js'
import { bounded, gate, rejection } from '../support/waiting.js'

/** Who counts what a tenant holds, how often, and what happens when nobody can. */

describe('between two counts', () => {
  test('a share of the quota is let in, and a count is made for each share', async () => {
    const given = benchWith({ activeKeys: 400 })
    for (const key of keysOf(100)) await run(given, key)
    expect(given.faults.asked.get('usage')).toBe(100 / (400 * limits.quotaShare))
  })

  test('all who come at once wait for one count, and exactly as many are let in as there is room', async () => {
    const given = benchWith({ activeKeys: 200 })
    const ended = await Promise.all(keysOf(300).map((key) => run(given, key).catch((error: unknown) => error)))
    expect(ended.filter(isDone)).toHaveLength(200)
    expect(ended.filter((one) => !isDone(one))).toEqual(
      Array(100).fill(expect.objectContaining({ code: 'quota_exceeded' })),
    )
    expect(given.faults.asked.get('usage')).toBeLessThan(50)
  })

  test('keys that were let in and are not in the store yet are not forgotten', async () => {
    const memory = memoryStore()
    const held = gate()
    const taking: string[] = []
    const slow: Store = {
      ...memory,
      async reserve(asked) {
        if (asked.onNew === 'take') {
          taking.push(asked.key)
          await held.opened
        }
        return memory.reserve(asked)
      },
    }
    const given = bench(slow, { quotas: { activeKeys: 2 } })
    const first = [run(given, 'a'), run(given, 'b')]
    await given.clock.settle()
    expect(taking).toEqual(['a', 'b'])
    expect(await rejection(run(given, 'c'))).toMatchObject({
      code: 'quota_exceeded',
      retryAfterMs: defaults.quotaHoldMs,
    })
    held.open()
    await Promise.all(first)
    expect(await memory.usage('acme', 10)).toMatchObject({ keys: 2 })
  })

  test.each([
    ['5s', 5_000],
    ['1s', 1_000],
    ['20s', 20_000],
  ] as const)(
    'keys whose reservation failed take room for two steps of a store that has %s for each, and no longer',
    async (storeTimeout, stepMs) => {
      const memory = memoryStore()
      let isFailing = true
      const failing: Store = {
        ...memory,
        reserve: (asked) =>
          isFailing && asked.onNew === 'take' ? Promise.reject(new Error('connection lost')) : memory.reserve(asked),
      }
      const given = bench(failing, { quotas: { activeKeys: 2 }, storeTimeout })
      for (const key of ['a', 'b'])
        expect(await rejection(run(given, key))).toMatchObject({ code: 'idempotency_store_unavailable' })
      isFailing = false
      await given.clock.advance(2 * stepMs)
      expect(await rejection(run(given, 'c'))).toMatchObject({ code: 'quota_exceeded' })
      await given.clock.advance(1)
      await runs(given, 'c', 'd')
      expect(await rejection(run(given, 'e'))).toMatchObject({ code: 'quota_exceeded' })
    },
  )

  test('a process remembers so many tenants and no more, and forgets who was not heard of for longest', async () => {
    const counted: string[] = []
    const usage = async (tenant: string) => {
      counted.push(tenant)
      return { keys: 0, bytes: 0 }
    }
    const counts = quotaCounts(() => ({ activeKeys: 400, storedBytes: undefined }), {
      clock: manualClock(),
      store: { usage },
      events: emitter(() => {}),
    })
    for (let index = 1; index <= limits.countedTenants; index++)
      await counts.admit(`tenant-${index}`, defaults.storeTimeoutMs)
    for (const tenant of ['tenant-1', 'one more', 'tenant-1', 'tenant-2'])
      await counts.admit(tenant, defaults.storeTimeoutMs)
    expect(counted.slice(limits.countedTenants)).toEqual(['one more', 'tenant-2'])
  })

  test('two processes together are over by no more than one share', async () => {
    const given = benchWith({ activeKeys: 400 })
    const other = given.another()
    const each = keysOf(300).map((key) => [
      run(given, `one ${key}`).catch(() => undefined),
      run({ ...given, hapax: other }, `two ${key}`).catch(() => undefined),
    ])
    const done = (await Promise.all(each.flat())).filter(isDone).length
    expect(done).toBeGreaterThanOrEqual(380)
    expect(done).toBeLessThanOrEqual(420)
  })
})

describe('a store that cannot count', () => {
  test('lets nobody in, and retries still pass', async () => {
    const given = benchWith({ activeKeys: 100 })
    await runs(given, 'a', 'b')
    given.faults.breakAt('usage', 'before')
    expect(await rejection(run(given, 'c'))).toMatchObject({ code: 'limiter_unavailable' })
    expect(await given.record('c')).toBeUndefined()
    expect(given.events).toContain('store_failed')
    expect(await run(given, 'a')).toMatchObject({ replayed: true })
    given.faults.mend()
    await runs(given, 'c')
  })

  test('but is silent lets nobody in, within a bound, however many wait for it', async () => {
    const given = benchWith({ activeKeys: 100 })
    given.faults.breakAt('usage', 'hangs')
    const waiting = keysOf(20).map((key) => rejection(run(given, key)))
    await given.clock.advance(defaults.storeTimeoutMs)
    const refused = await bounded(Promise.all(waiting), 'all refusals')
    expect(refused).toEqual(Array(20).fill(expect.objectContaining({ code: 'limiter_unavailable' })))
    expect(given.faults.asked.get('usage')).toBe(1)
    given.faults.mend()
  })

  test('opens no circuit and runs nothing without protection, however often it fails', async () => {
    const given = benchWith({ activeKeys: 100 })
    await runs(given, 'known')
    given.faults.breakAt('usage', 'before')
    const policy = given.policy({ dangerouslyFailOpen: true })
    for (const key of keysOf(3 * limits.failuresInARow)) {
      const refused = rejection(given.hapax.run({ scope: 'globex', key, policy }, async () => 'ran'))
      expect(await refused).toMatchObject({ code: 'limiter_unavailable' })
    }
    expect(given.events).not.toContain('circuit_opened')
    expect(given.events).not.toContain('ran_unprotected')
    expect(await run(given, 'known')).toMatchObject({ replayed: true })
  })
})
