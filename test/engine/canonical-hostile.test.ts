import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../src/engine/canonical.js'

/** How long these take is measured in `bench/hostile.ts`; here they only have to end well. */
const megabyte = 1_048_576
const result = (text: string) => canonicalJson(Buffer.from(text))
const opaque = (reason: string) => ({ kind: 'opaque', reason })
const spelled = (text: string) => ({ kind: 'canonical', text })

describe('a megabyte of malice ends in a defined result', () => {
  test.each([
    ['depth 100,000', '['.repeat(100_000) + ']'.repeat(100_000), 'too_deep'],
    ['objects 100,000 deep', '{"a":'.repeat(100_000), 'too_deep'],
    ['opening brackets', '['.repeat(megabyte), 'too_deep'],
    ['closing brackets', ']'.repeat(megabyte), 'not_json'],
    ['quotes', '"'.repeat(megabyte), 'not_json'],
    ['backslashes in a string', `"${'\\'.repeat(megabyte)}"`, 'lone'],
    ['a string without an end', `"${'a'.repeat(megabyte)}`, 'not_json'],
    ['lone surrogates', `"${'\\ud800'.repeat(megabyte / 6)}"`, 'lone_surrogate'],
    ['duplicate members', `{${Array(megabyte / 8).fill('"a":1').join(',')}}`, 'duplicate_member'],
    ['two names in turns', `{${Array(megabyte / 16).fill('"a":1,"b":2').join(',')}}`, 'duplicate_member'],
    ['an exponent of a million digits', `1e${'9'.repeat(megabyte)}`, 'number_out_of_range'],
    ['minus signs', '-'.repeat(megabyte), 'not_json'],
    ['blanks', ' '.repeat(megabyte), 'not_json'],
  ].filter(([, , reason]) => reason !== 'lone'))('%s', (_, text, reason) => {
    expect(result(text)).toEqual(opaque(reason))
  })

  test('backslashes are pairs of them', () => {
    const text = `"${'\\'.repeat(megabyte)}"`
    expect(result(text)).toEqual(spelled(text))
    expect(result(`"${'\\'.repeat(megabyte + 1)}"`)).toEqual(opaque('not_json'))
  })

  test('digits are one number', () => {
    const digits = '7'.repeat(megabyte)
    expect(result(digits)).toEqual(spelled(`7.${digits.slice(1)}e+${megabyte - 1}`))
    expect(result(`${digits}.0`)).toEqual(result(digits))
    expect(result(`0.${'0'.repeat(megabyte)}1`)).toEqual(spelled(`1e-${megabyte + 1}`))
    expect(result(`1e${'0'.repeat(megabyte)}1`)).toEqual(spelled('10'))
  })

  test('escapes are one string', () => {
    expect(result(`"${'\\u0041'.repeat(megabyte / 6)}"`)).toEqual(spelled(`"${'A'.repeat(megabyte / 6)}"`))
  })

  test('100,000 members in no order are sorted', () => {
    const numbers = Array.from({ length: 100_000 }, (_, index) => (index * 7_919) % 100_000)
    const members = (order: readonly number[]) => `{${order.map((n) => `"m${String(n).padStart(5, '0')}":${n}`).join(',')}}`
    expect(result(members(numbers))).toEqual(spelled(members(numbers.toSorted((a, b) => a - b))))
  })

  test('names that differ only in their last letter are sorted', () => {
    const names = Array.from({ length: 100 }, (_, index) => 'n'.repeat(10_000) + String.fromCharCode(200 - index))
    const members = (order: readonly string[]) => `{${order.map((name) => `"${name}":0`).join(',')}}`
    expect(result(members(names))).toEqual(spelled(members(names.toReversed())))
  })

  test('__proto__ pollutes nothing', () => {
    const text = `[${Array(megabyte / 32).fill('{"__proto__":{"polluted":1}}').join(',')}]`
    expect(result(text)).toEqual(spelled(text))
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})
