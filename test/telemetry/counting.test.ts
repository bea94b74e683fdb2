import { isHapaxError, workOnce } from 'hapax'
import { definitions, type MetricId, telemetry } from 'hapax/telemetry'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Bench, bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'
import { read } from './reading.js'

/** What an engine tells becomes numbers, each once, under the name of its operation and nobody's key. */

const operation = 'payments.create'

function watched(given: Bench = bench()) {
  const watch = telemetry({ hapax: given.hapax, every: 'off' })
  onTestFinished(() => watch.stop())
  const policy = given.policy()
  const run = (key: string, handler: () => Promise<unknown> = async () => 'paid', input: unknown = 1) =>
    given.hapax.run({ scope: 'acme', key, policy, input }, handler)
  return {
    ...given,
    watch,
    policy,
    run,
    count: (name: string, labels = {}) => read(watch, name, { operation, ...labels }),
  }
}

describe('a request is counted once, by what came of it', () => {
  test('as created when its key is new, and as a replay from then on', async () => {
    const { run, count } = watched()
    await run('k-1')
    expect([count('reserve.created.count'), count('reserve.replay.count')]).toEqual([1, 0])
    await run('k-1')
    await run('k-1')
    expect([count('reserve.created.count'), count('reserve.replay.count')]).toEqual([1, 2])
    expect(count('run.count', { ending: 'completed' })).toBe(1)
  })

  test('as misuse when its key belongs to another request', async () => {
    const { run, count } = watched()
    await run('k-1')
    await expect(run('k-1', async () => 'paid', 2)).rejects.toThrow()
    expect([count('reserve.key_misuse.count'), count('reserve.replay.count')]).toEqual([1, 0])
  })

  test('as in progress when it was sent away, and as a replay when it waited and was given the answer', async () => {
    const { run, count, hapax } = watched()
    const running = gate()
    const first = run('k-1', () => running.opened)
    await expect(run('k-1')).rejects.toThrow()
    expect(count('reserve.in_progress.count')).toBe(1)
    const patient = hapax.policy({ name: operation, concurrency: 'wait' })
    const waiting = gate()
    const started = gate()
    const handler = async () => {
      started.open()
      return waiting.opened
    }
    const ask = () => hapax.run({ scope: 'acme', key: 'k-2', policy: patient, input: 1 }, handler)
    const both = [ask(), ask()]
    await started.opened
    waiting.open()
    await Promise.all(both)
    running.open()
    await first
    expect([count('reserve.in_progress.count'), count('reserve.replay.count')]).toEqual([1, 1])
  })

  test('as a retry of what failed, and each ending by itself', async () => {
    const { run, count } = watched()
    await expect(run('k-1', async () => Promise.reject(new Error('no')))).rejects.toThrow()
    await run('k-1')
    expect([count('reserve.created.count'), count('reserve.failed_retry.count')]).toEqual([1, 1])
    expect([count('run.count', { ending: 'failed' }), count('run.count', { ending: 'completed' })]).toEqual([1, 1])
  })

  test('as unknown when nobody knows, and the doubt as one to look at', async () => {
    const { hapax, run, count, policy, watch } = watched()
    await hapax
      .run({ scope: 'acme', key: 'k-1', policy, input: 1 }, async (work) => work.doubt('gateway_timeout'))
      .catch(() => undefined)
    await expect(run('k-1')).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect([count('reserve.unknown.count'), count('run.count', { ending: 'doubted' })]).toEqual([1, 1])
    expect(read(watch, 'reconcile.scheduled.count', { of: 'record' })).toBe(1)
  })
})

test('a store that is down is counted by step, and each request that was refused for it, also while the circuit is open', async () => {
  const { run, count, faults, watch } = watched()
  faults.breakAt('reserve', 'before')
  for (let attempt = 0; attempt < 20; attempt++)
    await run(`k-${attempt}`).catch((error: unknown) => expect(isHapaxError(error)).toBe(true))
  expect(count('refused.count', { code: 'idempotency_store_unavailable' })).toBe(20)
  expect(read(watch, 'store.error.count', { step: 'reserve' })).toBeGreaterThanOrEqual(5)
  expect(read(watch, 'store.circuit_open')).toBe(1)
})

test('an operation whose store has been down since its first request has all its counts, so that the part of refusals is known', async () => {
  const { run, count, faults } = watched()
  faults.breakAt('reserve', 'before')
  await run('k-1').catch(() => undefined)
  expect(count('refused.count', { code: 'idempotency_store_unavailable' })).toBe(1)
  expect([count('reserve.created.count'), count('reserve.replay.count'), count('reserve.unknown.count')]).toEqual([
    0, 0, 0,
  ])
})

test('a worker has its last pass on record, and one that has only failed has none: 0', async () => {
  const { hapax, faults, watch, clock } = watched()
  faults.breakAt('sweep', 'before')
  await workOnce({ hapax })
  expect(read(watch, 'worker.last_pass.timestamp', { worker: 'sweeper' })).toBe(0)
  expect(read(watch, 'worker.error.count', { worker: 'sweeper' })).toBeGreaterThan(0)
  faults.mend()
  await workOnce({ hapax })
  expect(read(watch, 'worker.last_pass.timestamp', { worker: 'sweeper' })).toBe(clock.now() / 1_000)
})

test('durations are counted in seconds, under the name of the operation, the step or the worker', async () => {
  const { clock, watch, hapax, policy } = watched()
  const handler = async () => {
    await clock.advance(250)
    return 'paid'
  }
  await hapax.run({ scope: 'acme', key: 'k-1', policy, input: 1 }, handler)
  const metric = watch.read().find(({ definition }) => definition === definitions.runDuration)
  if (metric?.kind !== 'histogram') throw new Error('a duration is a histogram')
  const [series] = metric.series()
  expect(series).toMatchObject({ labels: { operation }, sum: 0.25, count: 1 })
  // On a bound counts as below it.
  expect(metric.bounds[series?.counts.indexOf(1) ?? -1]).toBe(0.25)
  expect(read(watch, 'store.duration', { step: 'reserve' })).toBe(1)
})

test('what was never seen is there at zero once its operation is, so that its first time is a step', async () => {
  const { run, count } = watched()
  await run('k-1')
  const all: MetricId[] = ['replay', 'inProgress', 'keyMisuse', 'failedRetry', 'unknown', 'zombieKey']
  for (const id of all) expect(count(definitions[id].name.replace('api.idempotency.', '')), id).toBe(0)
})

test('an engine that is watched no more is not counted, and what was counted can be read', async () => {
  const { run, count, watch, hapax } = watched()
  await run('k-1')
  // Nobody else hears of this one.
  expect(hapax.events.hears('store_answered')).toBe(true)
  await watch.stop()
  expect(hapax.events.hears('store_answered')).toBe(false)
  await run('k-2')
  expect(count('reserve.created.count')).toBe(1)
})

test('names that somebody makes up at run time share one series in the end', async () => {
  const { hapax, watch } = watched()
  for (let made = 0; made < 1_200; made++)
    await hapax.run(
      { scope: 'acme', key: `k-${made}`, policy: hapax.policy({ name: `made.up.${made}` }) },
      async () => 1,
    )
  const metric = watch.read().find(({ definition }) => definition === definitions.created)
  expect(metric?.series().length).toBe(1_001)
  expect(read(watch, 'reserve.created.count', { operation: 'other' })).toBe(200)
})
