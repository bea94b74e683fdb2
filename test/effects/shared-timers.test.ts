import { describe, expect, test } from 'vitest'
import { sharedTimers } from '../../src/effects/shared-timers.js'
import { manualClock } from '../support/manual-clock.js'

describe('Timers that many share', () => {
  test('each call back after its own time, whoever is cancelled before them', async () => {
    const clock = manualClock()
    const timers = sharedTimers(clock)
    const told: string[] = []
    const tells = (name: string) => () => told.push(`${name} at ${clock.elapsed()}`)
    const cancelFirst = timers.after(100, tells('first'))
    await clock.advance(30)
    timers.after(100, tells('second'))
    timers.after(20, tells('a short one'))
    await clock.advance(10)
    const cancelThird = timers.after(100, tells('third'))
    timers.after(100, tells('fourth'))
    cancelFirst()
    cancelThird()
    await clock.advance(1_000)
    expect(told).toEqual(['a short one at 50', 'second at 130', 'fourth at 140'])
  })

  test('of one length are one timer, and none once nobody waits', () => {
    const clock = manualClock()
    let set = 0
    const counting = {
      ...clock,
      after: (ms: number, callback: () => void) => {
        set++
        const cancel = clock.after(ms, callback)
        return () => {
          set--
          cancel()
        }
      },
    }
    const timers = sharedTimers(counting)
    const cancels = Array.from({ length: 50 }, () => timers.after(100, () => undefined))
    expect(set).toBe(1)
    for (const cancel of cancels) cancel()
    expect(set).toBe(0)
  })
})
