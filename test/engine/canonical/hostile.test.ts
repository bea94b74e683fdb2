import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../src/engine/canonical/canonical.js'

/**
 * How long malice takes is measured by the megabyte in `bench/hostile.ts`. Here it only has to end well, and this much
 * of it would overflow any stack that grew with it.
 */
const plenty = 240_000
const result = (text: string) => canonicalJson(Buffer.from(text))
const opaque = (reason: string) => ({ kind: 'opaque', reason })
const spelled = (text: string) => ({ kind: 'canonical', text })

describe('malice ends in a defined result', () => {
  test.each([
    ['depth 100,000', '['.repeat(100_000) + ']'.repeat(100_000), 'too_deep'],
    ['objects 100,000 deep', '{"a":'.repeat(100_000), 'too_deep'],
    ['opening brackets', '['.repeat(plenty), 'too_deep'],
    ['closing brackets', ']'.repeat(plenty), 'not_json'],
    ['quotes', '"'.repeat(plenty), 'not_json'],
    ['a string without an end', `"${'a'.repeat(plenty)}`, 'not_json'],
    ['lone surrogates', `"${'\\ud800'.repeat(plenty / 6)}"`, 'lone_surrogate'],
    [
      'duplicate members',
      `{${Array(plenty / 8)
        .fill('"a":1')
        .join(',')}}`,
      'duplicate_member',
    ],
    [
      'two names in turns',
      `{${Array(plenty / 16)
        .fill('"a":1,"b":2')
        .join(',')}}`,
      'duplicate_member',
    ],
    ['an exponent of many digits', `1e${'9'.repeat(plenty)}`, 'number_out_of_range'],
    ['minus signs', '-'.repeat(plenty), 'not_json'],
    ['blanks', ' '.repeat(plenty), 'not_json'],
  ])('%s', (_, text, reason) => {
    expect(result(text)).toEqual(opaque(reason))
  })

  test('backslashes are pairs of them', () => {
    const text = `"${'\\'.repeat(plenty)}"`
    expect(result(text)).toEqual(spelled(text))
    expect(result(`"${'\\'.repeat(plenty + 1)}"`)).toEqual(opaque('not_json'))
  })

  test('digits are one number', () => {
    const digits = '7'.repeat(1_048_576)
    expect(result(digits)).toEqual(spelled(`7.${digits.slice(1)}e+1048575`))
    expect(result(`${digits}.0`)).toEqual(result(digits))
    expect(result(`0.${'0'.repeat(plenty)}1`)).toEqual(spelled(`1e-${plenty + 1}`))
    expect(result(`1e${'0'.repeat(plenty)}1`)).toEqual(spelled('10'))
  })

  test('escapes are one string', () => {
    expect(result(`"${'\\u0041'.repeat(plenty / 6)}"`)).toEqual(spelled(`"${'A'.repeat(plenty / 6)}"`))
  })

  test('30,000 members in no order are sorted', () => {
    const numbers = Array.from({ length: 30_000 }, (_, index) => (index * 7_919) % 30_000)
    const members = (order: readonly number[]) =>
      `{${order.map((n) => `"m${String(n).padStart(5, '0')}":${n}`).join(',')}}`
    expect(result(members(numbers))).toEqual(spelled(members(numbers.toSorted((a, b) => a - b))))
  })

  test('names that differ only in their last letter are sorted', () => {
    const names = Array.from({ length: 100 }, (_, index) => 'n'.repeat(2_000) + String.fromCharCode(200 - index))
    const members = (order: readonly string[]) => `{${order.map((name) => `"${name}":0`).join(',')}}`
    expect(result(members(names))).toEqual(spelled(members(names.toReversed())))
  })

  test('__proto__ pollutes nothing', () => {
    const text = `[${Array(plenty / 32)
      .fill('{"__proto__":{"polluted":1}}')
      .join(',')}]`
    expect(result(text)).toEqual(spelled(text))
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})
