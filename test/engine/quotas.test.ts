import assert from 'node:assert/strict'
import { defaults, engine, limits, type QuotaOptions } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { benchWith, keysOf, run, runs } from '../support/quota-bench.js'
import { gate, rejection } from '../support/waiting.js'

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

  test.each([{ activekeys: 5 }, { newKeys: { most: 1, per: '1s' }, bytes: 5 }, 5, true, () => 5])(
    '%j is refused as a set of quotas, and the refusal names those that there are',
    (quotas) => {
      const message = expect.stringContaining('newKeys, activeKeys, storedBytes')
      const refused = expect.objectContaining({ code: 'policy_invalid', message })
      expect(() => engine({ store: memoryStore(), quotas: quotas as never })).toThrow(refused)
    },
  )

  test('without a quota no key is asked for twice, and nothing is counted', async () => {
    const given = bench()
    await runs(given, 'a')
    expect(given.faults.asked.get('reserve')).toBe(1)
    expect(given.faults.asked.has('usage')).toBe(false)
  })
})
