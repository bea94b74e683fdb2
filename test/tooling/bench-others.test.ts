import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { disturbed } from '../../bench/harness/disturbed.js'
import { watchOthers } from '../../bench/harness/others.js'
import { processorTicks, type Ticks } from '../../bench/harness/processor-ticks.js'

/** Two processors, a hundred ticks a second each. */
function look(second: number, others: number, own: number): Ticks {
  return { all: second * 200, busy: others + own, own }
}

afterEach(() => void vi.useRealTimers())

test('what others take of the machine is that of their busiest ten seconds, without what the bench itself takes', () => {
  vi.useFakeTimers()
  let now = look(0, 0, 0)
  const others = watchOthers(() => now)
  for (const next of [look(10, 20, 1_900), look(20, 820, 2_900), look(30, 840, 4_800)]) {
    now = next
    vi.advanceTimersByTime(10_000)
  }
  expect(others()).toBe(0.4)
})

test('a moment at the end does not count by itself: a few ticks say nothing', () => {
  vi.useFakeTimers()
  let now = look(0, 0, 0)
  const others = watchOthers(() => now)
  now = look(10, 0, 1_900)
  vi.advanceTimersByTime(10_000)
  now = look(10.1, 20, 1_900)
  expect(others()).toBe(0.01)
})

test('what others take is told of a short bench, too; where the machine does not tell it, nobody does', () => {
  const looks = [look(0, 0, 0), look(1, 50, 100)]
  expect(watchOthers(() => looks.shift())()).toBe(0.25)
  expect(watchOthers(() => undefined)()).toBeUndefined()
})

const hasTicks = existsSync('/proc/stat')

test.skipIf(!hasTicks)(
  `what a child takes is the bench's own, while it runs and when it has ended${hasTicks ? '' : ' (skipped: no /proc)'}`,
  async () => {
    const own = () => processorTicks()?.own ?? Number.NaN
    const before = own()
    const busy = 'const until = performance.now() + 300; while (performance.now() < until);'
    const child = spawn(process.execPath, ['-e', `${busy} console.log('done'); process.stdin.resume()`])
    const closed = once(child, 'close')
    await once(child.stdout, 'data')
    const running = own()
    child.stdin.end()
    await closed
    expect(running - before).toBeGreaterThan(3)
    expect(own()).toBeGreaterThanOrEqual(running)
  },
)

test('a result is kept off the record when others took too much, before or meanwhile', () => {
  expect(disturbed({ busyBefore: 0.15, busyMeanwhile: 0.15 })).toBeUndefined()
  expect(disturbed({ busyBefore: 0.02 })).toBeUndefined()
  expect(disturbed({ busyBefore: 0.16, busyMeanwhile: 0 })).toBe('16 % of this machine was busy before it began')
  expect(disturbed({ busyBefore: 0, busyMeanwhile: 0.4 })).toBe('others had 40 % of this machine meanwhile')
})
