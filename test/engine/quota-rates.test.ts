import { defaults, engine, limits } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { describe, expect, test } from 'vitest'
import { bench } from '../support/bench.js'
import { benchWith, run, runs } from '../support/quota-bench.js'
import { bounded, rejection } from '../support/waiting.js'

/** How fast new keys may come, and how often an answer may be asked for. */

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
    expect(await rejection(run(given, 'b'))).toMatchObject({ code: 'limiter_unavailable' })
    expect(await given.record('b')).toBeUndefined()
    expect(await run(given, 'a')).toMatchObject({ replayed: true })
  })

  test('whose limiter is silent lets nobody in, within a bound', async () => {
    const given = benchWith({ newKeys: { consume: () => new Promise(() => {}) } })
    const refused = rejection(run(given, 'a'))
    await given.clock.advance(defaults.storeTimeoutMs)
    expect(await bounded(refused, 'the refusal')).toMatchObject({ code: 'limiter_unavailable' })
    expect(await given.record('a')).toBeUndefined()
  })
})

describe('a limiter that is down', () => {
  const down = { consume: () => Promise.reject(new Error('connection refused')) }

  test('is no reason to run anything without protection, whatever the policy says of the store', async () => {
    const given = benchWith({ newKeys: down })
    const policy = given.policy({ dangerouslyFailOpen: true })
    const refused = rejection(given.hapax.run({ scope: 'acme', key: 'a', policy }, async () => 'ran'))
    expect(await refused).toMatchObject({ code: 'limiter_unavailable', retryable: true, fault: 'operator' })
    expect(given.events).not.toContain('ran_unprotected')
    expect(await given.record('a')).toBeUndefined()
  })

  test('opens no circuit, however often it fails: known keys replay as ever', async () => {
    let consume = async (): Promise<unknown> => 'fine'
    const given = benchWith({ newKeys: { consume: () => consume() } })
    await runs(given, 'known')
    consume = down.consume
    for (let failure = 0; failure < 3 * limits.failuresInARow; failure++)
      expect(await rejection(run(given, `new-${failure}`))).toMatchObject({ code: 'limiter_unavailable' })
    expect(given.events).not.toContain('circuit_opened')
    expect(await run(given, 'known')).toMatchObject({ replayed: true })
  })

  test('gives no answer again while it counts those, and says so', async () => {
    const given = bench(undefined, { replays: down })
    await runs(given, 'a')
    expect(await rejection(run(given, 'a'))).toMatchObject({ code: 'limiter_unavailable' })
  })
})

test('a silent limiter is waited for as long as a step of the store may take, and no longer', async () => {
  const silent = { consume: () => new Promise(() => {}) }
  const told: string[] = []
  for (const options of [{ quotas: { newKeys: silent } }, { replays: silent }]) {
    const given = bench(undefined, { ...options, storeTimeout: '200ms' })
    const refused = run(given, 'a')
      .then(() => run(given, 'a'))
      .catch((error: { code: string }) => told.push(error.code))
    await given.clock.advance(200)
    await bounded(refused, 'the refusal')
  }
  expect(told).toEqual(['limiter_unavailable', 'limiter_unavailable'])
})

describe('at start', () => {
  test.each([
    5,
    0,
    null,
    'many',
    true,
    {},
    { most: 5 },
    { per: '1s' },
    { most: 0, per: '1s' },
    { most: 1.5, per: '1s' },
    { most: '5', per: '1s' },
    { most: 5, per: 60 },
    { most: 5, per: '0s' },
    { most: 5, per: '25d' },
    { most: 5, per: '2160h' },
    { consume: 'me' },
  ])('%j is refused as a rate, and the refusal says what to write', (given) => {
    const refused = expect.objectContaining({
      code: 'policy_invalid',
      message: expect.stringMatching(/quotas\.newKeys.*(per: '1s'|like '30s')/),
    })
    expect(() => engine({ store: memoryStore(), quotas: { newKeys: given as never } })).toThrow(refused)
  })

  test.each([5, { most: 0, per: '1m' }, { most: 1, per: '60d' }])('%j is refused as a rate of replays', (given) => {
    const refused = expect.objectContaining({ code: 'policy_invalid', message: expect.stringContaining('replays') })
    expect(() => engine({ store: memoryStore(), replays: given as never })).toThrow(refused)
  })

  test('a rate over as long as a process can count holds', async () => {
    const given = benchWith({ newKeys: { most: 1, per: '24d' } })
    await runs(given, 'a')
    for (const key of ['b', 'c']) expect(await rejection(run(given, key))).toMatchObject({ code: 'quota_exceeded' })
  })
})
