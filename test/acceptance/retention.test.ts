import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isHapaxError, keyOf, type PolicyOptions, scopeOf } from 'hapax'
import { beforeAll, describe, expect, test } from 'vitest'
import { pay, tea } from '../sandbox/payment-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { recordOf, sqlOn } from './support/database.js'
import { openShop } from './support/shop.js'
import { testFile } from './support/test-file.js'
import { days, hours, minutes, noon } from './support/times.js'

/** How long a key is remembered, and what its reuse after that means. The clock is the store's; no test waits. */

const page = readFileSync(new URL('../../docs/reference/policy.md', import.meta.url), 'utf8')

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })
  const at = (ms: number) => sandbox.at(ms)

  test('the API replays for 24 hours and no longer; then the key is as good as new [S0-17 S4-31]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    await at(noon)
    const first = await pay(sandbox, attempt)
    await at(noon + 23 * hours + 59 * minutes)
    const late = await pay(sandbox, attempt)
    expect([late.text, late.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    await at(noon + 24 * hours + 1_000)
    const reused = { ...attempt, body: tea() }
    const next = await pay(sandbox, reused)
    expect([next.status, next.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(next.json.id).not.toBe(first.json.id)
    expect((await pay(sandbox, reused)).text).toBe(next.text)
    expect([await sandbox.paymentsOf(attempt.body), await sandbox.paymentsOf(reused.body)]).toEqual([
      [first.json.id],
      [next.json.id],
    ])
  })

  test('the API goes by the deadline in the record, to the millisecond, though nothing has cleaned up [X-23]', async () => {
    const attempt = { key: randomUUID(), body: tea() }
    await at(noon)
    const first = await pay(sandbox, attempt)
    const deadline = Number((await sandbox.recordOf(attempt.key)).expires_at)
    await at(deadline - 1)
    expect((await pay(sandbox, attempt)).text).toBe(first.text)
    await at(deadline)
    expect(await sandbox.recordsOf(attempt.key)).toMatchObject([{ status: 'completed' }])
    expect((await pay(sandbox, attempt)).headers.get('idempotent-replayed')).toBeNull()
    expect(await sandbox.paymentsOf(attempt.body)).toHaveLength(2)
  })

  test('the sandbox keeps an answer for 24 hours: the last millisecond replays, the next one runs as new [S3-14 S3-51]', async () => {
    const key = randomUUID()
    await at(noon)
    const body = tea()
    const first = await pay(sandbox, { key, body })
    await at(noon + 24 * hours - 1)
    const last = await pay(sandbox, { key, body })
    expect([last.status, last.text, last.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
    await at(noon + 24 * hours)
    const anew = await pay(sandbox, { key, body })
    expect([anew.status, anew.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(anew.json.id).not.toBe(first.json.id)
    expect(await sandbox.paymentsOf(body)).toHaveLength(2)
    expect(Number((await sandbox.recordOf(key)).generation)).toBe(2)
  })
})

test('each operation has its own retention: a day, a month, an hour for what is worth the most [S1-043 S1-083]', async () => {
  const { hapax, policy, at } = await openShop()
  for (const [retention, ms] of [
    ['24h', days],
    ['30d', 30 * days],
    ['1h', hours],
  ] as const) {
    const request = { scope: 'acme', key: retention, policy: policy({ name: `kept.${retention}`, retention }) }
    const replayed: boolean[] = []
    for (const age of [0, ms - 1, ms]) {
      await at(noon + age)
      replayed.push((await hapax.run(request, async () => 'paid')).replayed)
    }
    expect(replayed, retention).toEqual([false, true, false])
  }
})

test('after its retention a key may be cleaned up, and makes a new request that is marked as one [S1-044]', async () => {
  const { hapax, policy, store, path, at, charge, charges } = await openShop()
  const run = () => hapax.run({ scope: 'acme', key: 'k', policy: policy() }, () => charge(`ch_${charges.length + 1}`))
  await at(noon)
  expect(await run()).toMatchObject({ value: { charge: 'ch_1' }, replayed: false, generation: 1 })
  await at(noon + days - 1)
  expect(await store.reap(1_000)).toEqual({ buried: 0, deleted: 0 })
  await at(noon + days)
  expect(await store.reap(1_000)).toEqual({ buried: 1, deleted: 0 })
  expect(recordOf(path, 'k')).toMatchObject({ status: 'expired', response_body: null })
  expect(await run()).toMatchObject({ value: { charge: 'ch_2' }, replayed: false, generation: 2 })
})

test('a retention shorter than clients go on retrying refuses to start [S1-045 S1-086]', async () => {
  const { policy } = await openShop()
  const shorter = () => policy({ retention: '24h', retryHorizon: '72h' })
  expect(shorter).toThrow(
    expect.objectContaining({ code: 'policy_invalid', message: expect.stringMatching(/retryHorizon 72h/) }),
  )
  expect(() => policy({ retention: '71h', retryHorizon: '72h' })).toThrow()
  for (const retention of ['72h', '7d', 'forever'] as const) {
    expect(() => policy({ retention, retryHorizon: '72h' })).not.toThrow()
  }
})

test('a retry that comes too late is refused, or runs for all to see; it is never silent [S1-107]', async () => {
  const { hapax, policy, at, heard, charge, charges } = await openShop()
  const run = (key: string, onExpired: 'run' | 'refuse') =>
    hapax.run({ scope: 'acme', key, policy: policy({ onExpired }) }, ({ generation }) => charge(`${key} ${generation}`))
  await at(noon)
  for (const key of ['visible', 'refused']) await run(key, 'run')
  await at(noon + days)
  await expect(run('refused', 'refuse')).rejects.toMatchObject({ code: 'idempotency_key_expired' })
  expect(await run('visible', 'run')).toMatchObject({ value: { charge: 'visible 2' }, replayed: false, generation: 2 })
  expect(charges).toEqual(['visible 1', 'refused 1', 'visible 2'])
  const told = heard.filter(({ name }) => name === 'refused_expired' || name === 'reused_after_expiry')
  expect(told).toMatchObject([
    { name: 'refused_expired', event: { generation: 1 } },
    { name: 'reused_after_expiry', event: { generation: 2 } },
  ])
})

describe('a policy', () => {
  test('whose retention is shorter than the clients retry, or than its own handler runs, does not start [S2-120]', async () => {
    const { hapax } = (await testFile()).node()
    const refusal = (options: Partial<PolicyOptions>) => {
      try {
        hapax.policy({ name: 'payments.create', ...options })
        return undefined
      } catch (error) {
        return isHapaxError(error, 'policy_invalid') ? error.message : error
      }
    }
    expect(refusal({ retention: '48h', retryHorizon: '72h' })).toMatch(/retention is shorter than retryHorizon 72h/)
    expect(refusal({ retention: '2h', maxRun: '2h' })).toMatch(/longer than maxRun/)
    expect(refusal({ retention: '72h', retryHorizon: '72h' })).toBeUndefined()
    expect(refusal({ retention: 'forever', retryHorizon: '72h' })).toBeUndefined()
  })

  test('under a day warns, and under an hour must say that it knows [S3-60]', async () => {
    const { hapax, logged } = (await testFile()).node()
    const warnings = (options: Partial<PolicyOptions>) => {
      logged.length = 0
      hapax.policy({ name: 'pings.create', maxRun: '5m', ...options })
      return logged.map(({ level, code }) => `${level} ${code}`)
    }
    expect(warnings({})).toEqual([])
    expect(warnings({ retention: '24h' })).toEqual([])
    expect(warnings({ retention: '23h' })).toEqual(['warn retention_short'])
    expect(warnings({ retention: '1h' })).toEqual(['warn retention_short'])
    expect(() => warnings({ retention: '59m' })).toThrow(/under 1h.*allowShortRetention/)
    expect(warnings({ retention: '59m', allowShortRetention: true })).toEqual(['warn retention_short'])
  })

  test('keeps answers for ever only where it says so; and the page says that keys are no audit log [S3-61]', async () => {
    const { hapax } = (await testFile()).node()
    expect(hapax.policy({ name: 'disputes.create' }).retentionMs).toBe(days)
    expect(hapax.policy({ name: 'disputes.create', retention: 'forever' }).retentionMs).toBeUndefined()
    expect(page).toMatch(/Keys are no audit log: keep that in a table of its own/)
  })

  test('is chosen by three things that the page adds up: retries, recovery, audit [S2-120 S2-142]', () => {
    const [, advice = ''] = page.split('## How long to keep answers')
    expect(advice.replaceAll('\n', ' ')).toMatch(/sum of three things.*clients retry.*recover from a failure.*audit/)
  })
})

describe('at the edge of its retention', () => {
  for (const [edge, age] of [
    ['expiry', days],
    ['the end of the tombstone', days + 30 * days],
  ] as const) {
    test(`a key raced for by fifty and a reaper runs once, with a record: ${edge} [X-17]`, async () => {
      const { hapax, policy, store, path, at } = await openShop()
      const states: unknown[] = []
      const run = () =>
        hapax.run({ scope: 'acme', key: 'k', policy: policy() }, async () => {
          states.push(recordOf(path, 'k').status)
          return states.length
        })
      await at(noon)
      await run()
      if (age > days) {
        await at(noon + days)
        await store.reap(1_000)
      }
      await at(noon + age)
      const crowd = Array.from({ length: 50 }, (_, racer) => (racer % 5 === 2 ? store.reap(1_000) : run()))
      for (const result of await Promise.allSettled(crowd)) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'idempotency_key_in_progress' })
      }
      expect(states).toEqual(['in_progress', 'in_progress'])
      expect((await run()).value).toBe(2)
      const name = { scope: scopeOf('acme'), key: keyOf('k') }
      expect(await store.find(name)).toMatchObject({ state: 'completed', attempt: 1 })
      expect(sqlOn(path, 'SELECT 1 FROM hapax_records')).toHaveLength(1)
    })
  }
})
