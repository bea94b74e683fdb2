import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isHapaxError, type PolicyOptions } from 'hapax'
import { describe, expect, test } from 'vitest'
import { pinSqliteClock } from '../../dist/stores/sqlite/testing.js'
import { paymentsOf } from '../sandbox/database.js'
import { pay, tea } from '../sandbox/payment-client.js'
import { startSandbox } from '../sandbox/sandbox-process.js'
import { days, hours, noon, sqlOn, testFile } from './support/states-file.js'

/** How long an answer is kept, and what is left of it then. Time is the file's own clock, moved by hand. */

const page = readFileSync(new URL('../../docs/reference/policy.md', import.meta.url), 'utf8')

test('the sandbox keeps an answer for 24 hours: the last millisecond replays, the next one runs as new [S3-14 S3-51]', async () => {
  const sandbox = await startSandbox()
  const path = join(sandbox.dataDir, 'hapax.db')
  await pinSqliteClock(path, noon)
  const body = tea()
  const first = await pay(sandbox, { key: 'k', body })
  await pinSqliteClock(path, noon + 24 * hours - 1)
  const last = await pay(sandbox, { key: 'k', body })
  expect([last.status, last.text, last.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
  await pinSqliteClock(path, noon + 24 * hours)
  const anew = await pay(sandbox, { key: 'k', body })
  expect([anew.status, anew.headers.get('idempotent-replayed')]).toEqual([201, null])
  expect(anew.json.id).not.toBe(first.json.id)
  expect(paymentsOf(sandbox.dataDir, body)).toHaveLength(2)
  expect(sqlOn(path, 'SELECT generation FROM hapax_records')).toEqual([{ generation: 2 }])
})

describe('the reaper', () => {
  test('deletes what is past its window, and nothing that is still in it [S2-121 S3-53]', async () => {
    const file = await testFile()
    const { store, hapax } = file.node()
    const policy = hapax.policy({ name: 'payments.create', tombstone: '0s' })
    const run = (key: string) => hapax.run({ scope: 'acme', key, policy }, async () => key)
    await file.setTime(noon)
    await run('old')
    await file.setTime(noon + 1)
    await run('young')
    await file.setTime(noon + days - 1)
    expect(await store.reap(100)).toEqual({ buried: 0, deleted: 0 })
    await file.setTime(noon + days)
    expect(await store.reap(100)).toEqual({ buried: 1, deleted: 0 })
    expect(await store.reap(100)).toEqual({ buried: 0, deleted: 1 })
    expect(await store.reap(100)).toEqual({ buried: 0, deleted: 0 })
    expect(file.sql('SELECT idempotency_key AS key FROM hapax_records')).toEqual([{ key: 'young' }])
    expect(await run('young')).toMatchObject({ replayed: true })
  })

  test('leaves a tombstone where it was told to: known as expired, without its answer, and run as new [S2-122]', async () => {
    const file = await testFile()
    const { store, hapax, events } = file.node()
    const policy = hapax.policy({ name: 'payments.create', tombstone: '30d' })
    await file.setTime(noon)
    await hapax.run({ scope: 'acme', key: 'k', policy }, async () => 'first')
    await file.setTime(noon + days)
    await store.reap(100)
    expect(file.row('k')).toMatchObject({ status: 'expired', response_status_code: null, response_body: null })
    const anew = await hapax.run({ scope: 'acme', key: 'k', policy }, async () => 'second')
    expect(anew).toMatchObject({ value: 'second', replayed: false, generation: 2 })
    expect(events).toContain('reused_after_expiry')
  })
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
