import { describe, expect, test } from 'vitest'
import { stepsInTime } from '../../src/engine/in-time.js'
import { type Clock, HapaxError } from '../../src/index.js'
import { manualClock } from '../support/manual-clock.js'

/** What was told of failed steps. */
function telling() {
  const told: string[] = []
  const tell = (step: string, _: unknown, failure: HapaxError) => {
    told.push(`${step}: ${failure.code}`)
    return failure
  }
  return { told, tell }
}

/** As somebody may write one, with what it needs in itself. */
class OwnClock implements Clock {
  readonly #timers = new Set<NodeJS.Timeout>()

  now(): number {
    return Date.now()
  }

  elapsed(): number {
    return performance.now()
  }

  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms)
    this.#timers.add(timer)
    return () => clearTimeout(timer)
  }
}

describe('a step of a store that is waited for', () => {
  test('is asked on a clock that is a class', async () => {
    const { told, tell } = telling()
    const inTime = stepsInTime(new OwnClock(), tell)
    await expect(inTime('renew', async () => 'renewed', 1_000)).resolves.toBe('renewed')
    expect(told).toEqual([])
  })

  test('is told once when it is late, and not again when it fails after all', async () => {
    const { told, tell } = telling()
    const clock = manualClock()
    const inTime = stepsInTime(clock, tell)
    let fail: (error: Error) => void = () => {}
    const asked = new Promise<never>((_, reject) => {
      fail = reject
    })
    const refused = expect(inTime('renew', () => asked, 1_000)).rejects.toMatchObject({
      code: 'idempotency_store_unavailable',
    })
    await clock.advance(1_000)
    await refused
    fail(new Error('too late'))
    await clock.settle()
    expect(told).toEqual(['renew: idempotency_store_unavailable'])
  })

  test('that throws at once has failed like any other, and no timer is left', async () => {
    const { told, tell } = telling()
    const clock = manualClock()
    const inTime = stepsInTime(clock, tell)
    const ask = () => {
      throw new HapaxError('store_busy')
    }
    await expect(inTime('find', ask, 1_000)).rejects.toMatchObject({ code: 'store_busy' })
    await clock.advance(2_000)
    expect(told).toEqual(['find: store_busy'])
  })
})
