import { type TelemetryOptions, telemetry } from 'hapax/telemetry'
import { expect, onTestFinished, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'
import { read } from './reading.js'

/** What the store holds is asked for now and then, within bounds, and never by a scrape. */

function watched(options: Partial<TelemetryOptions> = {}) {
  const given = bench()
  const watch = telemetry({ hapax: given.hapax, ...options })
  onTestFinished(() => watch.stop())
  const policy = given.policy()
  return { ...given, watch, policy, asked: () => given.faults.asked.get('measure') ?? 0 }
}

test('the store is asked at once and then every so often, however often somebody reads', async () => {
  const { clock, watch, asked } = watched({ every: '15s' })
  await clock.settle()
  expect(asked()).toBe(1)
  for (let scrape = 0; scrape < 100; scrape++) watch.read()
  await clock.advance(14_999)
  expect(asked()).toBe(1)
  await clock.advance(1)
  expect(asked()).toBe(2)
  await watch.stop()
  await clock.advance(60_000)
  expect(asked()).toBe(2)
})

test('the gauges say what there is, and how old the oldest is', async () => {
  const { hapax, clock, watch, policy } = watched({ every: 'off' })
  const running = gate()
  const first = hapax.run({ scope: 'acme', key: 'k-1', policy, input: 1 }, () => running.opened)
  await hapax
    .run({ scope: 'acme', key: 'k-2', policy, input: 1 }, async (work) => work.doubt('gateway_timeout'))
    .catch(() => undefined)
  await clock.advance(5_000)
  await watch.sample()
  expect(read(watch, 'key.stored')).toBe(2)
  expect([read(watch, 'in_progress.stored'), read(watch, 'in_progress.age')]).toEqual([1, 5])
  expect([read(watch, 'unknown.stored', { of: 'record' }), read(watch, 'unknown.age', { of: 'record' })]).toEqual([
    1, 5,
  ])
  expect(read(watch, 'store.up')).toBe(1)
  running.open()
  await first
  await watch.sample()
  expect([read(watch, 'in_progress.stored'), read(watch, 'in_progress.age')]).toEqual([0, 0])
})

test('when the store does not answer it is down, and what it last said is not repeated', async () => {
  const { watch, faults } = watched({ every: 'off' })
  await watch.sample()
  expect([read(watch, 'store.up'), read(watch, 'key.stored')]).toEqual([1, 0])
  faults.breakAt('measure', 'before', 1)
  await watch.sample()
  expect([read(watch, 'store.up'), read(watch, 'key.stored'), read(watch, 'unknown.age')]).toEqual([
    0,
    undefined,
    undefined,
  ])
  expect(read(watch, 'store.error.count', { step: 'measure' })).toBe(1)
  await watch.sample()
  expect([read(watch, 'store.up'), read(watch, 'key.stored')]).toEqual([1, 0])
})

test('a store that hangs is given up after its time, and asked again after the usual rest', async () => {
  const { clock, watch, faults, asked } = watched({ every: '15s' })
  await clock.settle()
  faults.breakAt('measure', 'hangs')
  await clock.advance(15_000)
  expect(asked()).toBe(2)
  await clock.advance(5_000)
  expect(read(watch, 'store.up')).toBe(0)
  await clock.advance(15_000)
  expect(asked()).toBe(3)
  faults.mend()
})

test('once the engine is closed nobody is asked any more', async () => {
  const { hapax, clock, watch, asked } = watched({ every: '15s' })
  await clock.settle()
  await hapax.close()
  await clock.advance(60_000)
  expect(asked()).toBe(1)
  expect(read(watch, 'store.up')).toBeUndefined()
  await watch.stop()
})

test('a store that cannot say what it holds is watched all the same', async () => {
  const { store } = bench().faults
  const { measure: _, ...silent } = store
  const given = bench(silent as typeof store)
  const watch = telemetry({ hapax: given.hapax, every: 'off' })
  await watch.sample()
  expect([read(watch, 'store.up'), read(watch, 'key.stored')]).toEqual([undefined, undefined])
  await given.hapax.run({ scope: 'acme', key: 'k', policy: given.policy(), input: 1 }, async () => 1)
  expect(read(watch, 'reserve.created.count')).toBe(1)
})

test.each(['0s', 'soon', '15'])('every: %j is refused', (every) => {
  expect(() => watched({ every: every as '1s' })).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/invalid/) }),
  )
})

test('without an engine there is nothing to watch', () => {
  expect(() => telemetry({} as never)).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
})
