import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { sleep, systemClock, within } from '../../src/kernel/clock.js'
import { manualClock } from '../support/manual-clock.js'

describe('sleeping', () => {
  test('ends after its time', async () => {
    const clock = manualClock()
    let awake = false
    const sleeping = sleep(clock, 100).then(() => {
      awake = true
    })
    await clock.advance(99)
    expect(awake).toBe(false)
    await clock.advance(1)
    await sleeping
    expect(awake).toBe(true)
  })

  test('ends at once when its signal aborts, or has aborted before', async () => {
    const clock = manualClock()
    const abort = new AbortController()
    const sleeping = sleep(clock, 1_000_000, abort.signal)
    abort.abort()
    await sleeping
    await sleep(clock, 1_000_000, abort.signal)
    expect(clock.elapsed()).toBe(0)
  })
})

describe('a bounded wait', () => {
  const late = () => new Error('too late')

  test('gives what arrives in time', async () => {
    expect(await within(manualClock(), 10, Promise.resolve('here'), late)).toBe('here')
    await expect(within(manualClock(), 10, Promise.reject(new Error('failed')), late)).rejects.toThrow('failed')
  })

  test('is over at its bound', async () => {
    const clock = manualClock()
    const waiting = expect(within(clock, 10, new Promise(() => {}), late)).rejects.toThrow('too late')
    await clock.advance(10)
    await waiting
  })
})

test('a timer longer than the platform can hold does not fire at once', async () => {
  let fired = 0
  const cancel = systemClock.after(40 * 86_400_000, () => fired++)
  await new Promise<void>((resolve) => systemClock.after(20, resolve))
  cancel()
  expect(fired).toBe(0)
})

test('the system clock calls back, and not when cancelled', async () => {
  const called: string[] = []
  const cancel = systemClock.after(0, () => called.push('cancelled'))
  cancel()
  await new Promise<void>((resolve) => systemClock.after(1, resolve))
  expect(called).toEqual([])
  expect(systemClock.elapsed()).toBeGreaterThan(0)
  expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1_000)
})

test('a timer that waits weakly keeps no process alive', () => {
  const clock = new URL('../../dist/kernel/clock.js', import.meta.url).href
  const program = `import { systemClock } from '${clock}'; systemClock.after(30_000, () => {}, 'weakly')`
  expect(spawnSync(process.execPath, ['--input-type=module', '-e', program], { timeout: 10_000 }).status).toBe(0)
})
