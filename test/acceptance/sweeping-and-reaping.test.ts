import { keyOf, limits, scopeOf } from 'hapax'
import { describe, expect, test } from 'vitest'
import { sqlOn } from './support/database.js'
import { crashHalfWay } from './support/killed-node.js'
import { openShop, type Shop } from './support/shop.js'
import { testFile } from './support/test-file.js'
import { days, hours, minutes, noon } from './support/times.js'

/** What sweeping and reaping do to keys that are stuck or old. The clock is the store's; no test waits. */

const everything = limits.batch

test('a key that is stuck for longer than the threshold becomes unknown, due for reconciliation [S1-046]', async () => {
  const { hapax, policy, store, path, at, charge, charges } = await openShop()
  await at(noon)
  await crashHalfWay({ path, key: 'stuck', lease: '15m', where: 'handler' })
  await at(noon + 15 * minutes - 1)
  expect(await store.sweep(everything)).toEqual([])
  await at(noon + 15 * minutes)
  const [swept] = await store.sweep(everything)
  expect(swept).toMatchObject({ key: 'stuck', state: 'unknown', errorCode: 'in_progress_lock_expired' })
  expect(swept?.reconcileAfter).toBe(noon + 15 * minutes)
  expect((await store.list({ state: 'unknown', limit: 10 })).records).toMatchObject([{ key: 'stuck' }])
  const retry = hapax.run({ scope: 'acme', key: 'stuck', policy: policy() }, () => charge('again'))
  await expect(retry).rejects.toMatchObject({ code: 'outcome_unknown' })
  expect(charges).toEqual([])
})

test('one pass at the end of the lock takes every stuck key out of progress, and no living one', async () => {
  const { hapax, policy, store, path, at } = await openShop()
  await at(noon)
  await Promise.all(['stuck-1', 'stuck-2'].map((key) => crashHalfWay({ path, key, lease: '30s', where: 'handler' })))
  const stateOf = async (key: string) => (await store.find({ scope: scopeOf('acme'), key: keyOf(key) }))?.state
  await at(noon + 1)
  await hapax.run({ scope: 'acme', key: 'alive', policy: policy({ lease: '30s' }) }, async () => {
    await at(noon + 30_000)
    expect((await store.sweep(everything)).map(({ key }) => key).sort()).toEqual(['stuck-1', 'stuck-2'])
    expect(await stateOf('alive')).toBe('in_progress')
  })
  for (const key of ['stuck-1', 'stuck-2']) expect(await stateOf(key)).toBe('unknown')
  expect(await stateOf('alive')).toBe('completed')
})

test('reaped every hour, keys go when their time is over, and not an hour before', async () => {
  const shop = await openShop()
  const { store, path, at } = shop
  for (let made = 0; made < 6; made++) {
    await at(noon + made * hours)
    await complete(shop, [`made-at-${made}`], { retention: '24h', tombstone: '2h' })
  }
  await at(noon)
  await complete(shop, ['kept'], { retention: 'forever' })
  for (let age = 0; age <= 40; age++) {
    await at(noon + age * hours)
    await store.reap(everything)
    const left = sqlOn(path, 'SELECT idempotency_key AS key FROM hapax_records ORDER BY id').map(({ key }) => key)
    const expected = [0, 1, 2, 3, 4, 5].filter((made) => age < made + 24 + 2).map((made) => `made-at-${made}`)
    expect(left, `after ${age} hours`).toEqual([...expected, 'kept'])
  }
})

test('the reaper takes a bounded batch at a time, and requests get through between and beside them', async () => {
  const shop = await openShop()
  const { store, path, at } = shop
  await at(noon)
  const keys = Array.from({ length: 2_300 }, (_, number) => `old-${number}`)
  await complete(shop, keys, { retention: '24h' })
  await at(noon + days)
  const counts = (status: string) =>
    sqlOn(path, 'SELECT count(*) AS n FROM hapax_records WHERE status = ?', status)[0]?.n
  await complete(shop, ['live'], {})

  expect(await store.reap(300)).toEqual({ buried: 300, deleted: 0 })
  const [reaped] = await Promise.all([store.reap(1_000_000), complete(shop, ['beside'], {})])
  expect(reaped).toEqual({ buried: limits.batch, deleted: 0 })
  await complete(shop, ['between'], {})
  expect(await store.reap(1_000_000)).toEqual({ buried: 1_000, deleted: 0 })
  expect(await store.reap(1_000_000)).toEqual({ buried: 0, deleted: 0 })
  expect([counts('expired'), counts('completed')]).toEqual([2_300, 3])

  await at(noon + days + 30 * days)
  expect((await store.reap(1_000_000)).deleted).toBe(limits.batch)
  expect(counts('expired')).toBe(2_300 - limits.batch + 3)
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
    const { store, hapax, heard } = file.node()
    const policy = hapax.policy({ name: 'payments.create', tombstone: '30d' })
    await file.setTime(noon)
    await hapax.run({ scope: 'acme', key: 'k', policy }, async () => 'first')
    await file.setTime(noon + days)
    await store.reap(100)
    expect(file.row('k')).toMatchObject({ status: 'expired', response_status_code: null, response_body: null })
    const anew = await hapax.run({ scope: 'acme', key: 'k', policy }, async () => 'second')
    expect(anew).toMatchObject({ value: 'second', replayed: false, generation: 2 })
    expect(heard.map(({ name }) => name)).toContain('reused_after_expiry')
  })
})

/** Takes and completes each key in this shop, at its present time. */
async function complete({ hapax, policy }: Shop, keys: readonly string[], options: Parameters<Shop['policy']>[0]) {
  const kept = policy(options)
  await Promise.all(keys.map((key) => hapax.run({ scope: 'acme', key, policy: kept }, async () => 'done')))
}
