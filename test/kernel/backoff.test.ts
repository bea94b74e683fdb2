import { expect, test } from 'vitest'
import { backoffMs } from '../../src/kernel/backoff.js'

const chance = (fraction: number) => ({ fraction: () => fraction, id: () => 'x' })
const backoff = { firstMs: 100, maxMs: 1_000 }

test('the ceiling doubles with each attempt and stays at its maximum', () => {
  const ceilings = [1, 2, 3, 4, 5, 1_000].map((attempt) => backoffMs(backoff, attempt, chance(1)))
  expect(ceilings).toEqual([100, 200, 400, 800, 1_000, 1_000])
})

test('jitter is full: anything from nothing to the ceiling', () => {
  expect(backoffMs(backoff, 3, chance(0))).toBe(0)
  expect(backoffMs(backoff, 3, chance(0.5))).toBe(200)
})
