import type { PolicyOptions } from 'hapax'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'

const request = { scope: 'acme', key: 'k-1', input: 1 }
const hour = 3_600_000

describe('an answer', () => {
  test('is kept for its retention to the millisecond; then the key is new, visibly', async () => {
    const { hapax, policy, clock, events } = bench()
    const guarded = { ...request, policy: policy({ retention: '24h' }) }
    await hapax.run(guarded, async () => 'first')
    await clock.advance(24 * hour - 1)
    expect(await hapax.run(guarded, async () => 'second')).toMatchObject({ value: 'first', replayed: true })
    await clock.advance(1)
    expect(await hapax.run(guarded, async () => 'second')).toMatchObject({
      value: 'second',
      replayed: false,
      generation: 2,
    })
    expect(events).toContain('reused_after_expiry')
  })

  test('kept for ever is replayed after ten years', async () => {
    const { hapax, policy, clock } = bench()
    const guarded = { ...request, policy: policy({ retention: 'forever' }) }
    expect(await hapax.run(guarded, async () => 'first')).toMatchObject({ expiresAt: undefined })
    await clock.advance(10 * 365 * 24 * hour)
    expect(await hapax.run(guarded, async () => 'second')).toMatchObject({ value: 'first', replayed: true })
  })

  test('past its retention is refused where the policy says so', async () => {
    const { hapax, policy, clock, events } = bench()
    const guarded = { ...request, policy: policy({ onExpired: 'refuse' }) }
    await hapax.run(guarded, async () => 'first')
    await clock.advance(24 * hour)
    await expect(hapax.run(guarded, async () => 'second')).rejects.toMatchObject({ code: 'idempotency_key_expired' })
    expect(events).toContain('refused_expired')
  })
})

describe('a policy', () => {
  const refused: ReadonlyArray<[string, Partial<PolicyOptions>]> = [
    ['retention under an hour', { retention: '59m' }],
    ['retention shorter than the retry horizon', { retention: '24h', retryHorizon: '48h' }],
    ['retention not longer than maxRun', { retention: '10m', allowShortRetention: true, maxRun: '15m' }],
    ['a lease below the floor', { lease: '99ms' }],
    ['maxRun shorter than the lease', { lease: '30s', maxRun: '20s' }],
    ['a duration that is no duration', { retention: '1 day' as '1d' }],
    ['no name', { name: '' }],
    ['a version that is no whole number', { answerVersion: 1.5 }],
    ['a name that no store can keep', { name: 'a\u0000b' }],
    ['a choice that does not exist', { onCrash: 'retyr' as 'retry' }],
    ['an option that does not exist', { retnetion: '7d' } as object],
    ['a fingerprint that does not exist', { fingerprint: { strategy: { kind: 'zzz' as 'raw' } } }],
    ['a retention beyond all time', { retention: '999999999d' }],
  ]
  test.each(refused)('with %s refuses to start', (_, options) => {
    const { policy } = bench()
    expect(() => policy(options)).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  })

  test('with retention under a day warns', () => {
    const { policy, logged } = bench()
    policy({ retention: '23h' })
    expect(logged).toEqual([{ level: 'warn', code: 'retention_short', message: expect.stringContaining('23h') }])
  })

  test('with retention under an hour starts when told that this is meant', () => {
    const { policy } = bench()
    expect(policy({ retention: '30m', allowShortRetention: true }).retentionMs).toBe(1_800_000)
  })

  test('with a retry horizon inside its retention starts in silence', () => {
    const { policy, logged } = bench()
    expect(policy({ retention: '7d', retryHorizon: '72h' }).retentionMs).toBe(7 * 24 * hour)
    expect(logged).toEqual([])
  })
})
