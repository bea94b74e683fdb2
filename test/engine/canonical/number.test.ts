import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../src/engine/canonical/canonical.js'

const form = (text: string, numbers: 'exact' | 'ieee754' = 'exact') => {
  const result = canonicalJson(Buffer.from(text), { numbers })
  return result.kind === 'canonical' ? result.text : result.reason
}

describe('the same number has one form', () => {
  test.each([
    ['0', ['0', '-0', '0.0', '-0.000', '0e5', '0E-400', '-0e99999999999999999999']],
    ['1', ['1', '1.0', '1e0', '1E+0', '10e-1', '0.1e1', '1000e-3', '1e000', '1.000000000000000000000000']],
    ['0.1', ['0.1', '0.10', '1e-1', '0.01e1', '100E-3']],
    ['-12.5', ['-12.5', '-12.50', '-1.25e1', '-125e-1']],
    [
      '12345678901234567890',
      ['12345678901234567890', '12345678901234567890.0', '1.234567890123456789e19', '1234567890123456789e1'],
    ],
    ['1e+400', ['1E400', '10e399', '0.001e403', `1${'0'.repeat(400)}`]],
    ['1e-400', ['1E-400', '10e-401', `0.${'0'.repeat(399)}1`]],
  ])('%s', (expected, spellings) => {
    for (const spelling of spellings) expect([spelling, form(spelling)]).toEqual([spelling, expected])
  })
})

describe('different numbers have different forms', () => {
  test.each([
    ['12345678901234567890', '12345678901234567891'],
    ['333333333.33333329', '333333333.3333333'],
    ['1152921504606846976', '1152921504606847000'],
    ['0.1', '0.1000000000000000055511151231257827'],
    ['1E400', '2E400'],
    ['1e-400', '0'],
    ['1e-400', '1e-401'],
    ['9007199254740993', '9007199254740992'],
    ['100.00', '100.01'],
  ])('%s is not %s', (one, other) => {
    expect(form(one)).not.toBe(form(other))
  })

  test('a string of digits is no number: "100.00" and "100.0" are different texts', () => {
    expect(form('"100.00"')).not.toBe(form('"100.0"'))
    expect(form('"1"')).not.toBe(form('1'))
  })
})

test.each([
  ['1e21', '1e+21'],
  ['1e20', '100000000000000000000'],
  ['123456789012345678901', '123456789012345678901'],
  ['1234567890123456789012', '1.234567890123456789012e+21'],
  ['1e-6', '0.000001'],
  ['1e-7', '1e-7'],
  ['1.5e-7', '1.5e-7'],
  ['0.000001', '0.000001'],
  ['0.0000001', '1e-7'],
  ['0.00000123', '0.00000123'],
  ['-1.5E300', '-1.5e+300'],
  ['1230e-2', '12.3'],
  ['-0.5', '-0.5'],
])('the layout is that of ECMAScript: %s is %s', (text, expected) => {
  expect(form(text)).toBe(expected)
})

test('an exponent that nobody can count to has no form, unless the number is zero', () => {
  expect(form('1e1000000000000000')).toBe('1e+1000000000000000')
  expect(form('1e1000000000000001')).toBe('number_out_of_range')
  expect(form('1e-99999999999999999999')).toBe('number_out_of_range')
  expect(form('0.0e99999999999999999999')).toBe('0')
})

test('as RFC 8785 has it, neighbours merge and what is beyond the doubles has no form', () => {
  expect(form('333333333.33333329', 'ieee754')).toBe('333333333.3333333')
  expect(form('12345678901234567891', 'ieee754')).toBe('12345678901234567000')
  expect(form('-0.0', 'ieee754')).toBe('0')
  expect(form('1e-400', 'ieee754')).toBe('0')
  expect(form('1e400', 'ieee754')).toBe('number_out_of_range')
})

describe('for every double', () => {
  const doubles = fc.double({ noNaN: true, noDefaultInfinity: true })

  test('both forms of its shortest rendering are that rendering', () => {
    fc.assert(
      fc.property(doubles, (double) => {
        const text = String(double)
        expect([form(text), form(text, 'ieee754')]).toEqual([text, text])
        expect(form(double.toExponential())).toBe(text)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('for every number without an exponent, which may be spelled as its form is', () => {
  const digits = (most: number) =>
    fc.array(fc.constantFrom(...'0001259'), { minLength: 1, maxLength: most }).map((all) => all.join(''))
  const plain = fc
    .tuple(fc.constantFrom('', '-'), fc.oneof(fc.constant('0'), digits(24)), fc.option(digits(24)))
    .map(([sign, whole, fraction]) => sign + whole.replace(/^0+(?=.)/, '') + (fraction === null ? '' : `.${fraction}`))

  test('the form is that of the same number with an exponent, and as RFC 8785 has it that of its double', () => {
    fc.assert(
      fc.property(plain, (text) => {
        expect(form(text)).toBe(form(`${text}e0`))
        expect(form(text, 'ieee754')).toBe(String(Number(text)))
      }),
      { numRuns: 2_000 },
    )
  })

  test('a zero in front or no digit behind the point is no JSON', () => {
    for (const text of ['01', '-01', '00', '1.', '-1.', '.5', '-', '-.5', '00.5', '1.5.5', '1.e5'])
      expect([text, form(text)]).toEqual([text, 'not_json'])
  })
})

describe('for every two decimals', () => {
  const decimal = fc.record({
    digits: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    scale: fc.integer({ min: -40, max: 40 }),
  })
  type Decimal = { readonly digits: bigint; readonly scale: number }

  /** digits × 10^scale, with the point `shift` digits from the right. */
  const written = ({ digits, scale }: Decimal, shift: number) => {
    const sign = digits < 0n ? '-' : ''
    const all = (digits < 0n ? -digits : digits).toString().padStart(shift + 1, '0')
    const point = all.length - shift
    const mantissa = shift === 0 ? all : `${all.slice(0, point)}.${all.slice(point)}`
    return `${sign}${mantissa}e${scale + shift}`
  }
  const scaled = ({ digits, scale }: Decimal) => digits * 10n ** BigInt(scale + 40)

  test('the forms are equal exactly when the numbers are', () => {
    const near = fc.tuple(decimal, fc.integer({ min: -2, max: 2 }), fc.nat({ max: 3 })).map(([one, step, zeros]) => {
      const other = { digits: one.digits * 10n ** BigInt(zeros) + BigInt(step), scale: one.scale - zeros }
      return [one, other] as const
    })
    const pairs = fc.oneof(
      near.filter(([, other]) => other.scale >= -40),
      fc.tuple(decimal, decimal),
    )
    fc.assert(
      fc.property(pairs, fc.nat({ max: 35 }), fc.nat({ max: 35 }), ([one, other], shift, otherShift) => {
        const same = scaled(one) === scaled(other)
        expect(form(written(one, shift)) === form(written(other, otherShift))).toBe(same)
        expect(form(written(one, shift))).toBe(form(written(one, otherShift)))
      }),
      { numRuns: 1_000 },
    )
  })

  test('the form is its own form, and JSON', () => {
    fc.assert(
      fc.property(decimal, fc.nat({ max: 35 }), (one, shift) => {
        const text = form(written(one, shift))
        expect(form(text)).toBe(text)
        expect(Number(text)).toBe(Number(written(one, shift)))
      }),
    )
  })
})
