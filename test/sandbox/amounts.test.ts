import { expect, test } from 'vitest'
import { amountOf, minorUnitsOf } from '../../examples/sandbox/src/money/amounts.js'

/** Money as text outside and as whole minor units inside. */

test.for([
  ['0.01', 1n],
  ['1', 100n],
  ['1.5', 150n],
  ['100.00', 10_000n],
  ['999999999.99', 99_999_999_999n],
] as const)('%s is read to the last digit', ([text, units]) => {
  expect(minorUnitsOf(text)).toBe(units)
})

test('what is no amount, nothing, less than nothing, too much or too fine is not read', () => {
  const wrong = [
    0.1,
    100,
    1n,
    null,
    undefined,
    {},
    '',
    '0',
    '0.00',
    '-1',
    '+1',
    '1e2',
    '0x1',
    '01',
    '1.',
    '.1',
    '1.001',
  ]
  for (const value of [...wrong, ' 1', '1 ', '1,00', '１', '1000000000', '9'.repeat(1_000), 'Infinity'])
    expect([value, minorUnitsOf(value)]).toEqual([value, undefined])
})

test('it is written with two decimals, as it was meant', () => {
  expect([0n, 1n, 99n, 100n, -1n, -12_345n].map(amountOf)).toEqual(['0.00', '0.01', '0.99', '1.00', '-0.01', '-123.45'])
  for (let units = 1n; units < 10n ** 11n; units = units * 7n + 3n) expect(minorUnitsOf(amountOf(units))).toBe(units)
})
