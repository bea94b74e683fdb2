import { describe, expect, test } from 'vitest'
import { parseKeyHeader } from '../../src/http/header.js'

const uuids = ['8e03978e-40d5-43dd-bc93-6894a57f9324', 'c8f1e9a2-40d5-43dd-bc93-6894a57f9324']
const malformedCode = { code: 'idempotency_key_malformed' }
const malformed = expect.objectContaining(malformedCode)
const missing = expect.objectContaining({ code: 'idempotency_key_missing' })

describe('in every syntax', () => {
  describe.each(['lenient', 'string', 'raw'] as const)('%s', (syntax) => {
    test('no header at all is a missing key', () => {
      expect(() => parseKeyHeader(undefined, { syntax })).toThrow(missing)
      expect(() => parseKeyHeader([], { syntax })).toThrow(missing)
    })

    test('an empty header is a malformed key', () => {
      for (const value of ['', ' ', '\t ']) expect(() => parseKeyHeader(value, { syntax })).toThrow(malformed)
    })

    test('two header lines are refused, even when they say the same', () => {
      expect(() => parseKeyHeader(['"k"', '"k"'], { syntax })).toThrow(malformed)
      expect(() => parseKeyHeader(['k', 'k'], { syntax })).toThrow(malformed)
    })

    test('one line given as a list of one is that line', () => {
      expect(parseKeyHeader(['"key-1"'], { syntax })).toBe(parseKeyHeader('"key-1"', { syntax }))
    })

    test('a value of a megabyte is refused by its length alone', () => {
      const byLength = expect.objectContaining({
        ...malformedCode,
        message: expect.stringContaining('The key header has'),
      })
      for (const unit of ['k', '"', '\\', ' ', '"k";a=']) {
        expect(() => parseKeyHeader(unit.repeat(1_048_576 / unit.length), { syntax })).toThrow(byLength)
      }
    })

    test('control characters and anything beyond ASCII are refused', () => {
      for (const key of ['k\u0000', 'k\u0007y', 'k\u007f', 'k\u00e9', 'k\u{1f600}', 'k\n']) {
        expect(() => parseKeyHeader(key, { syntax })).toThrow(malformed)
        expect(() => parseKeyHeader(`"${key}"`, { syntax })).toThrow(malformed)
      }
    })
  })
})

describe('lenient', () => {
  test.each(uuids)('%s is the same key with and without its quotes', (uuid) => {
    expect(parseKeyHeader(uuid)).toBe(uuid)
    expect(parseKeyHeader(`"${uuid}"`)).toBe(uuid)
    expect(parseKeyHeader(`\t ${uuid} `)).toBe(uuid)
  })

  test('a quoted key may hold what a raw one may not', () => {
    expect(parseKeyHeader('"a, b"')).toBe('a, b')
    expect(parseKeyHeader('"say \\"once\\" \\\\"')).toBe('say "once" \\')
  })

  test('what a structured-field parser would read as something else is a raw key here', () => {
    for (const key of ['1', '-7.5', '?1', ':YQ==:', '@1659578233', 'token', '*', '%"f"', 'k;v=1']) {
      expect(parseKeyHeader(key)).toBe(key)
    }
  })

  test.each(['a,b', 'a, b', '"a", "b"', '"a" "b"', 'a b', 'a\tb', '"a', '"a"b', '"a\\x"', '"', '""'])(
    '%j is refused',
    (value) => {
      expect(() => parseKeyHeader(value)).toThrow(malformed)
    },
  )

  test('the length that counts is that of the key, not of its spelling', () => {
    const quotes = '\\"'.repeat(255)
    expect(parseKeyHeader(`"${quotes}"`)).toBe('"'.repeat(255))
    expect(() => parseKeyHeader(`"${quotes}\\""`)).toThrow(malformed)
    expect(() => parseKeyHeader('k'.repeat(256))).toThrow(malformed)
  })
})

describe('string', () => {
  const strict = { syntax: 'string' } as const

  test.each(uuids)('"%s" is a key and the same without quotes is not', (uuid) => {
    expect(parseKeyHeader(`"${uuid}"`, strict)).toBe(uuid)
    expect(() => parseKeyHeader(uuid, strict)).toThrow(malformed)
  })

  test('parameters behind the string are allowed and ignored', () => {
    expect(parseKeyHeader('"k";v=1;from="web"', strict)).toBe('k')
    expect(parseKeyHeader('  "k"  ', strict)).toBe('k')
  })

  test.each([
    ['a token', 'k'],
    ['an integer', '1'],
    ['a decimal', '1.5'],
    ['a boolean', '?1'],
    ['bytes', ':YQ==:'],
    ['a date', '@1659578233'],
    ['a display string', '%"k"'],
    ['a list', '"a", "b"'],
    ['an inner list', '("a" "b")'],
    ['an empty string', '""'],
    ['a string that does not end', '"k'],
    ['a bad escape', '"\\k"'],
    ['bad parameters', '"k";'],
    ['single quotes', "'k'"],
  ])('%s is refused', (_, value) => {
    expect(() => parseKeyHeader(value, strict)).toThrow(malformed)
  })
})

describe('raw', () => {
  const raw = { syntax: 'raw' } as const

  test.each(uuids)('%s is a key, and its quotes would be part of it', (uuid) => {
    expect(parseKeyHeader(uuid, raw)).toBe(uuid)
    expect(parseKeyHeader(`"${uuid}"`, raw)).toBe(`"${uuid}"`)
    expect(parseKeyHeader(` ${uuid}\t`, raw)).toBe(uuid)
  })

  test('a value is kept as it is, blanks and all', () => {
    expect(parseKeyHeader('a b  c;d="e"', raw)).toBe('a b  c;d="e"')
  })

  test.each(['a, b', 'a,b', '"a", "b"', ',', 'a,'])(
    '%j is refused: two lines that were joined look like it',
    (value) => {
      expect(() => parseKeyHeader(value, raw)).toThrow(malformed)
    },
  )
})

test('the rules of the key hold behind every syntax', () => {
  const rules = { minLength: 16, maxLength: 40 }
  expect(() => parseKeyHeader(`"${'k'.repeat(15)}"`, rules)).toThrow(malformed)
  expect(parseKeyHeader(`"${'k'.repeat(16)}"`, rules)).toHaveLength(16)
  expect(() => parseKeyHeader('k'.repeat(41), rules)).toThrow(malformed)
})
