import type { Clock } from 'hapax'
import { expect, test } from 'vitest'
import { HapaxError } from '../../src/kernel/errors.js'
import { emitter } from '../../src/kernel/events.js'
import { backoffs, workerBounds } from '../../src/kernel/limits.js'
import type { Pass } from '../../src/workers/passes.js'
import { service } from '../../src/workers/service.js'
import { manualClock } from '../support/manual-clock.js'

/** The loop around a single pass. */

const nothing: Pass = { did: {}, left: 'nothing' }

function given(pass: (signal: AbortSignal) => Promise<Pass>, fullPauseMs = 0, fraction = 0) {
  const clock = manualClock()
  const logged: string[] = []
  const log = ({ code }: { code: string }) => void logged.push(code)
  const events = emitter(log)
  const failures: string[] = []
  events.on('worker_failed', ({ worker, errorCode }) => failures.push(`${worker} ${errorCode}`))
  const passes: number[] = []
  const stop = new AbortController()
  const chance = { fraction: () => fraction, id: () => 'chance' }
  const made = service(
    { clock: clock as Clock, chance, events, log },
    {
      name: 'sweeper',
      everyMs: 10_000,
      fullPauseMs,
      pass(signal) {
        passes.push(clock.elapsed())
        return pass(signal)
      },
    },
  )
  return { clock, logged, failures, passes, stop, service: made, run: () => made.run(stop.signal) }
}

test('a pass comes at once, and the next after the interval at the latest, with chance taking up to half of it', async () => {
  const late = given(async () => nothing)
  void late.run()
  await late.clock.advance(20_000)
  expect(late.passes).toEqual([0, 10_000, 20_000])
  const early = given(async () => nothing, 0, 0.5)
  void early.run()
  await early.clock.advance(7_600)
  expect(early.passes).toEqual([0, 7_500])
})

test('while passes are full they follow each other, with the pause that was asked for between them', async () => {
  let left = 3
  const { clock, run, passes } = given(async () => ({ did: { reaped: 1 }, left: left-- > 0 ? 'more' : 'nothing' }), 50)
  void run()
  await clock.advance(1_000)
  expect(passes).toEqual([0, 50, 100, 150])
})

test('a pass that fails is told, and tried again after a pause that grows and is bounded', async () => {
  const { clock, run, passes, failures, logged } = given(async () => {
    throw new HapaxError('store_unreachable')
  })
  void run()
  await clock.advance(10 * 60_000)
  const pauses = passes.slice(1).map((at, index) => at - (passes[index] ?? 0))
  expect(pauses.slice(0, 4)).toEqual([500, 1_000, 2_000, 4_000])
  expect(Math.max(...pauses)).toBe(backoffs.working.maxMs / 2)
  expect(failures[0]).toBe('sweeper store_unreachable')
  expect(logged).toHaveLength(passes.length)
})

test('after a pass that succeeds the pause is the usual one again, and the error is gone from the status', async () => {
  const outcomes = ['fails', 'fails', 'works', 'fails']
  const { clock, run, passes, service } = given(async () => {
    if (outcomes.shift() === 'fails') throw new TypeError('a bug')
    return { did: { swept: 2 }, left: 'nothing' }
  })
  void run()
  await clock.advance(500)
  expect(service.status().lastError).toMatchObject({ code: 'TypeError', inARow: 2 })
  await clock.advance(1_000)
  expect(service.status()).toMatchObject({ name: 'sweeper', lastDid: { swept: 2 }, lastError: undefined })
  expect(service.status().lastPassAt).toBe(clock.now())
  await clock.advance(10_500)
  expect(passes).toEqual([0, 500, 1_500, 11_500, 12_000])
})

test('however often it is nudged, a gap stays between two passes', async () => {
  const { clock, run, passes, service } = given(async () => nothing)
  void run()
  await clock.settle()
  for (let ms = 0; ms < 1_000; ms += 10) {
    service.nudge()
    await clock.advance(10)
  }
  const gap = workerBounds.nudgeGapMs
  expect(passes).toEqual([0, gap, 2 * gap, 3 * gap, 4 * gap])
})

test('a nudge ends a rest, and one that came during a pass is not lost', async () => {
  const { clock, run, passes, service } = given(async () => {
    if (passes.length === 2) service.nudge()
    return nothing
  })
  void run()
  await clock.advance(5_000)
  service.nudge()
  await clock.advance(1_000)
  expect(passes).toEqual([0, 5_000, 5_000 + workerBounds.nudgeGapMs])
})

test('stopped, it ends its rest at once and makes no other pass', async () => {
  const { clock, run, passes, stop } = given(async () => nothing)
  const running = run()
  await clock.advance(100)
  stop.abort()
  await running
  expect(passes).toEqual([0])
})

test('it ends by itself when its engine is closed, and calls that no failure', async () => {
  const { run, failures, passes } = given(async () => {
    throw new HapaxError('engine_closed')
  })
  await run()
  expect({ failures, passes }).toEqual({ failures: [], passes: [0] })
})
