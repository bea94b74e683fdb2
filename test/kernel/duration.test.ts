import { describe, expect, test } from 'vitest'
import { formatDuration, parseDuration } from '../../src/kernel/duration.js'

describe('a duration', () => {
  test.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['0s', 0],
  ])('%s is %i milliseconds', (text, ms) => {
    expect(parseDuration(text, 'lease')).toBe(ms)
  })

  test.each(['', '24', 'h', '-1h', '1.5h', '1 h', '1w', '24H', '1h30m', '9999999999d', 'Infinityh'])(
    '%j is refused, naming the option',
    (text) => {
      expect(() => parseDuration(text, 'lease')).toThrow(/^lease is .*write a duration like/)
    },
  )

  test.each([
    [250, '250ms'],
    [90_000, '90s'],
    [5_400_000, '90m'],
    [86_400_000, '1d'],
    [0, '0ms'],
  ])('of %i milliseconds is written %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })
})
