import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { keyFormats, keyOf } from '../../src/engine/key.js'

describe('a key', () => {
  test.each([
    ['a UUID', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['a ULID', '01JCQ7Z3V8B4N2M6X9K5T0R1WY'],
    ['a nanoid', 'V1StGXR8_Z5jdHi6B-myT'],
    ['one character', 'k'],
    ['255 characters', 'k'.repeat(255)],
    ['every printable character', String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 0x20 + index))],
  ])('is %s, kept as it is', (_, text) => {
    expect(keyOf(text)).toBe(text)
  })

  test.each([
    ['256 characters', 'k'.repeat(256)],
    ['10 KB', 'k'.repeat(10_240)],
    ['a control character', 'k\u0000'],
    ['a line end', 'k\n'],
    ['DEL', 'k\u007f'],
    ['an emoji', 'k\u{1f600}'],
    ['a letter with an accent', 'clé'],
    ['a lone surrogate', 'k\ud800'],
  ])('of %s is malformed', (_, text) => {
    expect(() => keyOf(text)).toThrow(expect.objectContaining({ code: 'idempotency_key_malformed', fault: 'caller' }))
  })

  test('that is absent or empty is missing', () => {
    for (const text of [undefined, '']) {
      expect(() => keyOf(text)).toThrow(expect.objectContaining({ code: 'idempotency_key_missing' }))
    }
  })

  test('that is not even a string is malformed', () => {
    expect(() => keyOf(7 as unknown as string)).toThrow(expect.objectContaining({ code: 'idempotency_key_malformed' }))
  })
})

describe('rules', () => {
  const malformed = expect.objectContaining({ code: 'idempotency_key_malformed' })

  test('ask for a least length: 15 characters are refused and 16 pass', () => {
    expect(() => keyOf('k'.repeat(15), { minLength: 16 })).toThrow(malformed)
    expect(keyOf('k'.repeat(16), { minLength: 16 })).toHaveLength(16)
  })

  test('shorten the greatest length and never lengthen it beyond what stores have room for', () => {
    expect(keyOf('k'.repeat(40), { maxLength: 40 })).toHaveLength(40)
    expect(() => keyOf('k'.repeat(41), { maxLength: 40 })).toThrow(malformed)
    expect(() => keyOf('k'.repeat(256), { maxLength: 1_000 })).toThrow(malformed)
  })

  test('ask for a format, and keys that anybody could guess are refused', () => {
    for (const guessable of ['1', 'test', 'order-17']) {
      expect(() => keyOf(guessable, { format: keyFormats.uuid })).toThrow(malformed)
    }
    expect(keyOf('8E03978E-40d5-43dd-bc93-6894a57f9324', { format: keyFormats.uuid })).toHaveLength(36)
    expect(keyOf('01JCQ7Z3V8B4N2M6X9K5T0R1WY', { format: keyFormats.ulid })).toHaveLength(26)
  })

  test('ask for different characters, and keys that anybody could hit on are refused', () => {
    const rules = { minVariety: 8 }
    for (const guessable of ['1', 'test', 'order-17', 'k'.repeat(36), '00000000-0000-0000-0000-000000000000'])
      expect(() => keyOf(guessable, rules)).toThrow(malformed)
    expect(keyOf('abcdefgh', rules)).toHaveLength(8)
    expect(() => keyOf('abcdefga', rules)).toThrow(malformed)
    for (let time = 0; time < 1_000; time++) expect(keyOf(randomUUID(), rules)).toHaveLength(36)
  })

  test('judge each key alike, though a pattern may remember where it last stood', () => {
    const format = /^k+$/g
    expect([keyOf('kk', { format }), keyOf('kk', { format }), keyOf('kk', { format })]).toHaveLength(3)
  })
})
