import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { restartsOf } from '../../examples/sandbox/src/supervisor/restarts.js'

const said: string[] = []
beforeEach(() => {
  said.length = 0
  vi.spyOn(console, 'error').mockImplementation((line: string) => void said.push(line))
})
afterEach(() => void vi.restoreAllMocks())

test('what served is started again at once; what did not waits longer each time, and is given up', () => {
  const restarts = restartsOf('it', () => 0)
  expect(restarts.after({ wasReady: true, how: 'was killed' })).toBe(0)
  const failed = { wasReady: false, how: 'failed' }
  const pauses = Array.from({ length: 10 }, () => restarts.after(failed))
  expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, undefined])
  expect([said[0], said[1], said.at(-1)]).toEqual([
    'it was killed: starting it again',
    'it failed: starting it again in 100 ms',
    'it failed, for the 10th time before it served: given up',
  ])
})

test('one that is killed for sport is started two times a second on average, and no more often', () => {
  let now = 0
  const restarts = restartsOf('it', () => now)
  const killed = { wasReady: true, how: 'was killed' }
  for (let start = 0; start < 120; start++) expect(restarts.after(killed)).toBe(0)
  now = 10_000
  expect(restarts.after(killed)).toBe(50_000)
  now = 60_001
  expect(restarts.after(killed)).toBe(0)
})
