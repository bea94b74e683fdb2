import assert from 'node:assert/strict'
import {
  defaults,
  type Engine,
  engine,
  keyOf,
  limits,
  type QuotaOptions,
  type ScopeParts,
  type Store,
  scopeOf,
} from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { quotaCounts } from '../../src/engine/quota-counts.js'
import { emitter } from '../../src/kernel/events.js'
import { type Bench, bench } from '../support/bench.js'
import { manualClock } from '../support/manual-clock.js'
import { bounded, gate, rejection } from '../support/waiting.js'

/** Quotas hold up keys that are new, and never a retry. */

describe('a tenant with as many active keys as it may have', () => {
  test('is refused a new one, is told which quota it is and when to come back, and no other tenant is', async () => {
    const given = benchWith({ activeKeys: 3 })
    await runs(given, 'a', 'b', 'c')
    expect(await rejection(run(given, 'd'))).toMatchObject({
      code: 'quota_exceeded',
      retryable: true,
      retryAfterMs: defaults.quotaRetryAfterMs,
      message: expect.stringContaining('active keys'),
    })
    expect(await run(given, 'd', 'acme-2')).toMatchObject({ replayed: false })
    expect(await run(given, 'd', 'ac')).toMatchObject({ replayed: false })
  })

  test('leaves nothing behind when it is turned away, and that is told', async () => {
    const given = benchWith({ activeKeys: 1 })
    await runs(given, 'a')
    const handler = () => Promise.reject(new Error('nobody should run'))
    expect(await rejection(run(given, 'b', 'acme', handler))).toMatchObject({ code: 'quota_exceeded' })
    expect(await given.record('b')).toBeUndefined()
    expect(given.events.at(-1)).toBe('turned_away')
  })

  test('is one tenant over all of its scopes', async () => {
    const given = benchWith({ activeKeys: 2 })
    await run(given, 'a', { tenant: 'acme', principal: 'usr_7' })
    await run(given, 'a', { tenant: 'acme', route: 'POST /payments' })
    expect(await rejection(run(given, 'a'))).toMatchObject({ code: 'quota_exceeded' })
  })

  test('gets its replays', async () => {
    const given = benchWith({ activeKeys: 1 })
    await runs(given, 'a')
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'quota_exceeded' })
    for (let time = 1; time <= 5; time++) expect(await run(given, 'a')).toMatchObject({ replayed: true, value: 'done' })
  })

  test('may try again what failed', async () => {
    const given = benchWith({ activeKeys: 1 })
    await expect(run(given, 'a', 'acme', () => Promise.reject(new Error('no luck')))).rejects.toThrow('no luck')
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'quota_exceeded' })
    expect(await run(given, 'a')).toMatchObject({ replayed: false, value: 'done' })
  })

  test('may go on with what a crash left behind', async () => {
    const given = benchWith({ activeKeys: 1 })
    const policy = given.policy({ onCrash: 'retry', lease: '1s' })
    // Another process, which vanishes with its handler.
    const crashed = gate<string>()
    const gone = given.another().run({ scope: 'acme', key: 'a', policy }, () => crashed.opened)
    await given.clock.settle()
    given.faults.breakAt('renew', 'before')
    await given.clock.advance(2_000)
    given.faults.mend()
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'quota_exceeded' })
    expect(await given.hapax.run({ scope: 'acme', key: 'a', policy }, async () => 'done')).toMatchObject({
      value: 'done',
    })
    crashed.open('too late')
    await gone.catch(() => undefined)
  })

  test('is told of a conflict, a mismatch and a doubt as ever', async () => {
    const given = benchWith({ activeKeys: 2 })
    const held = gate<string>()
    const first = run(given, 'a', 'acme', () => held.opened)
    await given.clock.settle()
    await rejection(
      run(given, 'b', 'acme', async (work) => {
        work.doubt('provider_timeout')
        throw new Error('no reply')
      }),
    )
    expect(await rejection(run(given, 'c'))).toMatchObject({ code: 'quota_exceeded' })
    expect(await rejection(run(given, 'a'))).toMatchObject({ code: 'idempotency_key_in_progress' })
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'outcome_unknown' })
    held.open('done')
    await first
    const { hapax } = given
    const other = { scope: 'acme', key: 'a', input: { another: 'request' }, policy: given.policy() }
    expect(await rejection(hapax.run(other, async () => 1))).toMatchObject({
      code: 'idempotency_key_reused_with_different_payload',
    })
  })

  test('is let in again once keys have expired', async () => {
    const given = benchWith({ activeKeys: 2 })
    await runs(given, 'a')
    await given.clock.advance(1_000)
    await runs(given, 'b')
    expect(await rejection(run(given, 'c'))).toMatchObject({ code: 'quota_exceeded' })
    await given.clock.advance(defaults.retentionMs - 1_000)
    await runs(given, 'c')
    expect(await rejection(run(given, 'd'))).toMatchObject({ code: 'quota_exceeded' })
  })

  test('is refused for a while without being counted again', async () => {
    const given = benchWith({ activeKeys: 1 })
    await runs(given, 'a')
    const counted = () => given.faults.asked.get('usage') ?? 0
    await rejection(run(given, 'b'))
    const before = counted()
    for (let time = 1; time <= 10; time++) await rejection(run(given, 'b'))
    expect(counted()).toBe(before)
    await given.clock.advance(defaults.quotaHoldMs)
    await rejection(run(given, 'b'))
    expect(counted()).toBe(before + 1)
  })
})

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

  test('keys whose reservation failed do not take room for ever', async () => {
    const memory = memoryStore()
    let isFailing = true
    const failing: Store = {
      ...memory,
      reserve: (asked) =>
        isFailing && asked.onNew === 'take' ? Promise.reject(new Error('connection lost')) : memory.reserve(asked),
    }
    const given = bench(failing, { quotas: { activeKeys: 2 } })
    for (const key of ['a', 'b'])
      expect(await rejection(run(given, key))).toMatchObject({ code: 'idempotency_store_unavailable' })
    isFailing = false
    expect(await rejection(run(given, 'c'))).toMatchObject({ code: 'quota_exceeded' })
    await given.clock.advance(2 * defaults.storeTimeoutMs + 1)
    await runs(given, 'c', 'd')
    expect(await rejection(run(given, 'e'))).toMatchObject({ code: 'quota_exceeded' })
  })

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
    for (let index = 1; index <= limits.countedTenants; index++) await counts.admit(`tenant-${index}`)
    for (const tenant of ['tenant-1', 'one more', 'tenant-1', 'tenant-2']) await counts.admit(tenant)
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

describe('a tenant whose answers take as many bytes as they may', () => {
  const answerOf = (length: number) => async () => 'x'.repeat(length - 2)

  test('is refused a new key, and others are not', async () => {
    const given = benchWith({ storedBytes: 1_000 })
    await run(given, 'a', 'acme', answerOf(999))
    await run(given, 'b', 'acme', answerOf(10))
    expect(await rejection(run(given, 'c'))).toMatchObject({
      code: 'quota_exceeded',
      message: expect.stringContaining('bytes'),
      retryAfterMs: defaults.quotaRetryAfterMs,
    })
    expect(await given.record('c')).toBeUndefined()
    expect(await run(given, 'a')).toMatchObject({ replayed: true })
    expect(await run(given, 'c', 'globex')).toMatchObject({ replayed: false })
  })

  test('is counted again as soon as the answers since the last count take up a share', async () => {
    const given = benchWith({ storedBytes: 100_000 })
    for (const key of keysOf(20)) await run(given, key, 'acme', answerOf(1_000))
    const counts = given.faults.asked.get('usage') ?? 0
    expect(counts).toBeGreaterThanOrEqual(6)
    expect(counts).toBeLessThanOrEqual(10)
    await run(given, 'large', 'acme', answerOf(80_000))
    expect(await rejection(run(given, 'next'))).toMatchObject({ code: 'quota_exceeded' })
  })

  test('pays nothing for an answer that was withheld', async () => {
    const given = benchWith({ storedBytes: 100_000 })
    const policy = given.policy({ maxAnswerBytes: 100 })
    for (const key of keysOf(20)) await given.hapax.run({ scope: 'acme', key, policy }, answerOf(90_000))
    expect(given.faults.asked.get('usage')).toBe(1)
  })

  test('is let in again once answers have expired', async () => {
    const given = benchWith({ storedBytes: 1_000 })
    await run(given, 'a', 'acme', answerOf(1_000))
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'quota_exceeded' })
    await given.clock.advance(defaults.retentionMs)
    expect(await run(given, 'b')).toMatchObject({ replayed: false })
  })

  test('is held to both quotas where there are two', async () => {
    const given = benchWith({ storedBytes: 1_000, activeKeys: 2 })
    await run(given, 'a', 'globex', answerOf(1_000))
    expect(await rejection(run(given, 'b', 'globex'))).toMatchObject({ message: expect.stringContaining('bytes') })
    await runs(given, 'a', 'b')
    expect(await rejection(run(given, 'c'))).toMatchObject({ message: expect.stringContaining('active keys') })
  })
})

describe('a quota by tenant', () => {
  test('is what the function says of it, by the name that the application gave', async () => {
    const asked = new Set<string>()
    const of: Record<string, number> = { 'small & co': 1, large: 3 }
    const activeKeys = (tenant: string) => {
      asked.add(tenant)
      return of[tenant]
    }
    const given = benchWith({ activeKeys })
    await run(given, 'a', 'small & co')
    expect(await rejection(run(given, 'b', 'small & co'))).toMatchObject({ code: 'quota_exceeded' })
    for (const key of keysOf(3)) await run(given, key, 'large')
    expect(await rejection(run(given, 'd', 'large'))).toMatchObject({ code: 'quota_exceeded' })
    for (const key of keysOf(50)) await run(given, key, 'without a limit')
    expect(asked).toEqual(new Set(['small & co', 'large', 'without a limit']))
  })

  test('that was raised holds from the next count', async () => {
    let limit = 1
    const given = benchWith({ activeKeys: () => limit })
    await runs(given, 'a')
    await rejection(run(given, 'b'))
    limit = 2
    await given.clock.advance(defaults.quotaHoldMs)
    await runs(given, 'b')
  })

  test.each([
    ['that throws', () => assert.fail('no limit for this one')],
    ['that gives a fraction', () => 1.5],
    ['that gives less than one', () => 0],
    ['that gives no number', () => 'many' as never],
  ])('whose function is one %s lets nobody in', async (_, activeKeys) => {
    const given = benchWith({ activeKeys })
    expect(await rejection(run(given, 'a'))).toMatchObject({ code: 'policy_invalid' })
    expect(await given.record('a')).toBeUndefined()
  })
})

describe('a rate of new keys', () => {
  test('holds for each tenant on its own, and retries do not use it up', async () => {
    const given = benchWith({ newKeys: { most: 2, per: '1h' } })
    await runs(given, 'a', 'b')
    for (let time = 1; time <= 5; time++) expect(await run(given, 'a')).toMatchObject({ replayed: true })
    const refused = await rejection(run(given, 'c'))
    expect(refused).toMatchObject({ code: 'quota_exceeded', message: expect.stringContaining('new keys') })
    const { retryAfterMs } = refused as { retryAfterMs: number }
    expect(retryAfterMs).toBeGreaterThan(3_500_000)
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000)
    expect(await given.record('c')).toBeUndefined()
    expect(given.events.at(-1)).toBe('turned_away')
    await run(given, 'c', 'globex')
  })

  test('that a limiter of all nodes says is asked once for each new key, by the tenant', async () => {
    const asked: string[] = []
    const given = benchWith({ newKeys: { consume: async (name) => asked.push(name) } })
    await run(given, 'a')
    await run(given, 'a')
    await run(given, 'a', { tenant: 'globex', principal: 'usr_7' })
    expect(asked).toEqual(['new-keys acme', 'new-keys globex'])
  })

  test('has short names for tenants with long ones, a name each', async () => {
    const asked: string[] = []
    const given = benchWith({ newKeys: { consume: async (name) => asked.push(name) } })
    const tenants = [...'abc'].map((last) => 'ä'.repeat(80) + last)
    for (const tenant of tenants) await run(given, 'a', tenant)
    expect(new Set(asked).size).toBe(3)
    for (const name of asked) expect(name.length).toBeLessThan(200)
  })

  test('whose limiter fails lets nobody in, and retries still pass', async () => {
    let consume = async (): Promise<unknown> => 'fine'
    const given = benchWith({ newKeys: { consume: () => consume() } })
    await runs(given, 'a')
    consume = () => Promise.reject(new Error('connection refused'))
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'idempotency_store_unavailable' })
    expect(await given.record('b')).toBeUndefined()
    expect(await run(given, 'a')).toMatchObject({ replayed: true })
  })

  test('whose limiter is silent lets nobody in, within a bound', async () => {
    const given = benchWith({ newKeys: { consume: () => new Promise(() => {}) } })
    const refused = rejection(run(given, 'a'))
    await given.clock.advance(defaults.storeTimeoutMs)
    expect(await bounded(refused, 'the refusal')).toMatchObject({ code: 'idempotency_store_unavailable' })
    expect(await given.record('a')).toBeUndefined()
  })
})

describe('a store that cannot count', () => {
  test('lets nobody in, and retries still pass', async () => {
    const given = benchWith({ activeKeys: 100 })
    await runs(given, 'a', 'b')
    given.faults.breakAt('usage', 'before')
    expect(await rejection(run(given, 'c'))).toMatchObject({ code: 'idempotency_store_unavailable' })
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
    expect(refused).toEqual(Array(20).fill(expect.objectContaining({ code: 'idempotency_store_unavailable' })))
    expect(given.faults.asked.get('usage')).toBe(1)
    given.faults.mend()
  })
})

describe('at start', () => {
  test.each([
    { activeKeys: 0 },
    { activeKeys: 1.5 },
    { activeKeys: Number.NaN },
    { activeKeys: limits.countedKeys + 1 },
    { activeKeys: 'many' as never },
    { storedBytes: -1 },
    { storedBytes: Number.POSITIVE_INFINITY },
    { newKeys: { most: 0, per: '1s' } },
  ] satisfies QuotaOptions[])('%j is refused as a quota', (quotas) => {
    expect(() => engine({ store: memoryStore(), quotas })).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  })

  test('without a quota no key is asked for twice, and nothing is counted', async () => {
    const given = bench()
    await runs(given, 'a')
    expect(given.faults.asked.get('reserve')).toBe(1)
    expect(given.faults.asked.has('usage')).toBe(false)
  })
})

function benchWith(quotas: QuotaOptions): Bench {
  return bench(undefined, { quotas })
}

type Handler = Parameters<Engine<never>['run']>[1]

function run(given: Bench, key: string, scope: string | ScopeParts = 'acme', handler: Handler = async () => 'done') {
  return given.hapax.run({ scope, key, policy: given.policy() }, handler)
}

async function runs(given: Bench, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    expect(await run(given, key)).toMatchObject({ replayed: false })
    expect(await given.faults.store.find({ scope: scopeOf('acme'), key: keyOf(key) })).toBeDefined()
  }
}

function keysOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `key-${index}`)
}

function isDone(ended: unknown): boolean {
  return (ended as { value?: unknown } | undefined)?.value === 'done'
}
