import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { effects, workOnce } from 'hapax'
import { definitions, type MetricId, prometheus, prometheusName, telemetry } from 'hapax/telemetry'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { alerts } from '../../scripts/telemetry/alerts.mjs'
import { bench } from '../support/bench.js'
import { faultyStore } from '../support/faulty-store.js'
import { onPrometheus, promtool } from '../support/prometheus.js'
import { gate } from '../support/waiting.js'
import { insertRide, never, request, workBench } from '../support/work-bench.js'
import { days } from './support/times.js'

/** The published metrics, each as a scrape shows it before and after what it counts, and the alerts that are made of them. */

async function watched(...given: Parameters<typeof workBench>) {
  const bench = await workBench(...given)
  const watch = telemetry({ hapax: bench.hapax, every: 'off' })
  onTestFinished(() => watch.stop())
  const page = prometheus(watch)
  /** The sum of a metric over its labels, or over those with this one. */
  async function scraped(id: MetricId, label = ''): Promise<number> {
    await watch.sample()
    const name = prometheusName(definitions[id])
    const lines = (await page().text())
      .split('\n')
      .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    return lines.filter((line) => line.includes(label)).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }
  const run = (key = 'k', input: unknown = 1) =>
    bench.hapax.run({ ...request, key, input, policy: bench.policy }, async () => 'paid')
  return { ...bench, watch, scraped, run }
}

const refused = () => undefined

describe('what a request comes to', () => {
  test('a new key increments api.idempotency.reserve.created.count once [S2-123]', async () => {
    const { run, scraped } = await watched()
    await run()
    expect(await scraped('created')).toBe(1)
    await run()
    await run('k', 'another').catch(refused)
    expect(await scraped('created')).toBe(1)
    expect(definitions.created.name).toBe('api.idempotency.reserve.created.count')
  })

  test('a replay increments api.idempotency.reserve.replay.count [S2-124]', async () => {
    const { run, scraped } = await watched()
    await run()
    expect(await scraped('replay')).toBe(0)
    await run()
    await run()
    expect(await scraped('replay')).toBe(2)
    expect(definitions.replay.name).toBe('api.idempotency.reserve.replay.count')
  })

  test('a 409 and a 202 to a duplicate each increment api.idempotency.reserve.in_progress.count [S2-125]', async () => {
    const { hapax, policy, scraped } = await watched()
    const running = gate<string>()
    const first = hapax.run({ ...request, policy }, () => running.opened)
    const refusal = await hapax.run({ ...request, policy }, async () => 'paid').catch((error) => error.code)
    expect([refusal, await scraped('inProgress')]).toEqual(['idempotency_key_in_progress', 1])
    const accepting = hapax.policy({ name: 'rides.create', concurrency: 'accept' })
    const accepted = await hapax.run({ ...request, policy: accepting }, async () => 'paid')
    expect([accepted.kind, await scraped('inProgress')]).toEqual(['accepted', 2])
    running.open('paid')
    await first
    expect(definitions.inProgress.name).toBe('api.idempotency.reserve.in_progress.count')
  })

  test('a mismatch increments api.idempotency.reserve.key_misuse.count [S2-126]', async () => {
    const { run, scraped } = await watched()
    await run('k', 'one')
    expect(await scraped('keyMisuse')).toBe(0)
    await run('k', 'two').catch(refused)
    expect(await scraped('keyMisuse')).toBe(1)
    expect(definitions.keyMisuse.name).toBe('api.idempotency.reserve.key_misuse.count')
  })

  test('running again what had failed increments api.idempotency.reserve.failed_retry.count [S2-127]', async () => {
    const { hapax, policy, run, scraped } = await watched()
    const failing = async () => Promise.reject(new Error('not now'))
    await hapax.run({ ...request, input: 1, policy }, failing).catch(refused)
    expect([await scraped('failedRetry'), await scraped('created')]).toEqual([0, 1])
    await run()
    expect([await scraped('failedRetry'), await scraped('created')]).toEqual([1, 1])
    expect(definitions.failedRetry.name).toBe('api.idempotency.reserve.failed_retry.count')
  })

  test('meeting an unknown outcome increments api.idempotency.reserve.unknown.count [S2-128]', async () => {
    const { hapax, policy, run, scraped } = await watched()
    await hapax.run({ ...request, input: 1, policy }, async (work) => work.doubt('gateway_timeout')).catch(refused)
    expect(await scraped('unknown')).toBe(0)
    await run().catch(refused)
    expect(await scraped('unknown')).toBe(1)
    expect(definitions.unknown.name).toBe('api.idempotency.reserve.unknown.count')
  })
})

test('a store that fails increments api.idempotency.store.error.count [S2-129]', async () => {
  const { store } = await workBench()
  const faults = faultyStore(store as never)
  const { run, scraped } = await watched({ store: faults.store as never })
  await run('k-1')
  expect(await scraped('storeError')).toBe(0)
  faults.breakAt('reserve', 'before', 1)
  await run('k-2')
  expect(await scraped('storeError', 'step="reserve"')).toBe(1)
  expect(definitions.storeError.name).toBe('api.idempotency.store.error.count')
})

test('a lease that is found to be over increments api.idempotency.zombie_key.count, by whom ever [S2-130]', async () => {
  const { hapax, policy, node, run, scraped, travel } = await watched()
  const dead = node()
  for (const key of ['k-1', 'k-2']) void dead.run({ ...request, key, input: 1, policy }, never)
  await expect.poll(() => scraped('inProgressStored')).toBe(2)
  await travel(31_000)
  expect(await scraped('zombieKey')).toBe(0)
  await run('k-1').catch(refused)
  expect(await scraped('zombieKey')).toBe(1)
  await hapax.chores.sweep(10)
  expect(await scraped('zombieKey')).toBe(2)
  expect(definitions.zombieKey.name).toBe('api.idempotency.zombie_key.count')
})

test('what is pruned is added to api.idempotency.ttl_pruned.count [S2-131]', async () => {
  const { hapax, run, scraped, travel } = await watched()
  for (const key of ['k-1', 'k-2', 'k-3']) await run(key)
  await travel(1 * days)
  expect(await scraped('ttlPruned')).toBe(0)
  await workOnce({ hapax })
  expect(await scraped('ttlPruned', 'how="buried"')).toBe(3)
  await travel(30 * days)
  await workOnce({ hapax })
  expect(await scraped('ttlPruned', 'how="deleted"')).toBe(3)
  expect(definitions.ttlPruned.name).toBe('api.idempotency.ttl_pruned.count')
})

test('a doubt is scheduled, looked at in vain and resolved, each counted once [S2-132 S2-133 S2-134]', async () => {
  const { hapax, scraped, travel } = await watched()
  let knows = false
  const ride = hapax.operation('rides.create', { version: 1 }, async (work) => {
    await work.call('charge', {
      run: async () => Promise.reject(new Error('no reply')),
      lookup: async () => (knows ? { landed: true, result: 'ch_1' } : undefined),
    })
    return work.commit(() => ({ status: 201, body: {} }))
  })
  const counts = async () => [
    await scraped('reconcileScheduled'),
    await scraped('reconcileFailed'),
    await scraped('reconcileResolved'),
  ]
  await hapax.perform({ scope: 'acme', key: 'k', operation: ride, input: {} }).catch(refused)
  expect(await counts()).toEqual([1, 0, 0])
  await hapax.chores.reconcile(10)
  expect(await counts()).toEqual([1, 1, 0])
  knows = true
  await travel(60_000)
  await hapax.chores.reconcile(10)
  expect(await counts()).toEqual([1, 1, 1])
  expect([
    definitions.reconcileScheduled.name,
    definitions.reconcileFailed.name,
    definitions.reconcileResolved.name,
  ]).toEqual([
    'api.idempotency.reconcile.scheduled.count',
    'api.idempotency.reconcile.failed.count',
    'api.idempotency.reconcile.resolved.count',
  ])
})

test('how many duplicates a tenant sends is known by tenant, for a bounded number of them [S1-110]', async () => {
  const { hapax, policy } = bench()
  const watch = telemetry({ hapax, every: 'off' })
  onTestFinished(() => watch.stop())
  const ask = (scope: string, key: string) => hapax.run({ scope, key, input: 1, policy: policy() }, async () => 'paid')
  for (const key of ['k-1', 'k-1', 'k-1', 'k-2']) await ask('acme', key)
  for (const key of ['k-1', 'k-2']) await ask('globex', key)
  expect(watch.tenants().tenants.map(({ tenant, duplicateRate }) => [tenant, duplicateRate])).toEqual([
    ['acme', 0.5],
    ['globex', 0],
  ])
  for (let other = 0; other < 1_500; other++) await ask(`tenant-${other}`, 'k-1')
  expect(watch.tenants().tenants.length).toBe(1_000)
  expect(watch.tenants().tenants[0]).toMatchObject({ tenant: 'acme', duplicates: 2 })
})

onPrometheus('the alerts that are shipped', () => {
  const folder = fileURLToPath(new URL('../../telemetry/', import.meta.url))
  const rules = readFileSync(`${folder}alerts.yml`, 'utf8')
  let isContent = false

  beforeAll(async () => {
    ;({ isContent } = await promtool(['test', 'rules', `${folder}alerts.test.yml`]))
  }, 60_000)

  /** The rule is shipped, asks for these metrics, and promtool has seen it fire and stay silent. */
  function expectAlert(name: string, ...ids: readonly MetricId[]): void {
    const rule = rules.split('- alert: ').find((part) => part.startsWith(`${name}\n`)) ?? ''
    for (const id of ids) expect(rule).toContain(prometheusName(definitions[id]))
    expect(alerts.find((alert) => alert.name === name)?.scenes.length).toBeGreaterThanOrEqual(2)
    expect(isContent).toBe(true)
  }

  test('reservations that fail and a store that is down are measured, and alert [S1-073]', async () => {
    const { store } = await workBench()
    const faults = faultyStore(store as never)
    const { run, scraped } = await watched({ store: faults.store as never })
    await run('k-0')
    expect([await scraped('refused'), await scraped('storeUp'), await scraped('circuitOpen')]).toEqual([0, 1, 0])
    faults.breakAt('reserve', 'before')
    faults.breakAt('measure', 'before')
    for (let attempt = 1; attempt <= 10; attempt++) await run(`k-${attempt}`).catch(refused)
    expect(await scraped('refused', 'code="idempotency_store_unavailable"')).toBe(10)
    expect([await scraped('storeUp'), await scraped('circuitOpen')]).toEqual([0, 1])
    expectAlert('HapaxReservationFailures', 'refused', 'created')
    expectAlert('HapaxStoreUnhealthy', 'storeUp', 'circuitOpen')
  })

  test('dead letters are measured, and alert [S1-078]', async () => {
    const outbox = effects({
      'receipt.send': { call: async () => Promise.reject(new Error('no')), classify: () => 'answered' as const },
    })
    const { hapax, policy, scraped } = await watched({ effects: outbox })
    await hapax.run({ ...request, policy }, (work) =>
      work.commit(async ({ tx, effect }) => {
        effect('receipt.send', {})
        return insertRide(tx, 'a')
      }),
    )
    expect([await scraped('deadLetters'), await scraped('effectsWaiting')]).toEqual([0, 1])
    await workOnce({ hapax })
    expect([await scraped('deadLetters'), await scraped('effectsWaiting')]).toEqual([1, 0])
    expectAlert('HapaxDeadLetters', 'deadLetters')
  })

  test('duplicates and replays are measured, and alert when there are many [S1-109]', async () => {
    const { run, scraped } = await watched()
    await run()
    await run()
    expect([await scraped('replay'), await scraped('duplicateRatio')]).toEqual([1, 0.5])
    expectAlert('HapaxDuplicateSpike')
    expect(rules).toMatch(/record: "hapax:duplicate_ratio:rate5m"\s+expr: .*reserve_replay_count_total/)
    expectAlert('HapaxMismatchSpike', 'keyMisuse')
  })

  test('an outcome that nobody knows is seen by its age, and alerts when it is old [S2-113]', async () => {
    const { hapax, policy, scraped, travel } = await watched()
    await hapax.run({ ...request, policy }, async (work) => work.doubt('gateway_timeout')).catch(refused)
    await travel(2 * 3_600_000)
    expect([await scraped('unknownStored', 'of="record"'), await scraped('unknownAge', 'of="record"')]).toEqual([
      1, 7_200,
    ])
    expectAlert('HapaxUnknownTooOld', 'unknownAge', 'operatorQueue')
  })
})
