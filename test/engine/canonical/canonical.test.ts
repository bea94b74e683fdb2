import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../src/engine/canonical/canonical.js'

const canonical = (text: string) => canonicalJson(Buffer.from(text))
const spelled = (text: string) => ({ kind: 'canonical', text })
const opaque = (reason: string) => ({ kind: 'opaque', reason })

describe('the canonical form', () => {
  test.each([
    ['blanks go', ' { "a" : [ 1 ,\t2 ] ,\r\n "b" : { } } ', '{"a":[1,2],"b":{}}'],
    ['a scalar is a text of its own', ' "alone" ', '"alone"'],
    ['words stay', '[true,false,null]', '[true,false,null]'],
    [
      'members are sorted at every level',
      '{"b":{"d":1,"c":2},"a":[{"z":1,"y":2}]}',
      '{"a":[{"y":2,"z":1}],"b":{"c":2,"d":1}}',
    ],
    ['items keep their order', '[3,1,2]', '[3,1,2]'],
    [
      'capitals come before small letters, and digits before both',
      '{"a":0,"A":0,"1":0,"10":0,"2":0}',
      '{"1":0,"10":0,"2":0,"A":0,"a":0}',
    ],
    ['a name comes before those that begin with it', '{"ab":0,"a":0,"":0,"a!":0}', '{"":0,"a":0,"a!":0,"ab":0}'],
    ['escapes of letters go', '"\\u0041\\u00e9\\u20AC\\/"', '"Aé€/"'],
    ['short escapes are preferred', '"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c"', '"\\b\\t\\n\\f\\r\\"\\\\"'],
    ['other control characters are escaped in small letters', '"\\u001F\\u0000\\u000B"', '"\\u001f\\u0000\\u000b"'],
    ['DEL and line separators are not escaped', '"\\u007f\\u2028\\u2029"', '"\u007f\u2028\u2029"'],
    ['a pair of escaped surrogates is one character', '"\\uD83D\\uDE00"', '"\u{1f600}"'],
    ['composed and decomposed letters stay different', '["\\u00e9","e\\u0301"]', '["é","e\u0301"]'],
    ['an escaped name is sorted as what it stands for', '{"b":1,"\\u0061":2,"\\n":3}', '{"\\n":3,"a":2,"b":1}'],
    [
      '__proto__ is a member like others',
      '{"__proto__":{"x":1},"a":{"__proto__":2}}',
      '{"__proto__":{"x":1},"a":{"__proto__":2}}',
    ],
    [
      'names are sorted by UTF-16 code units',
      '{"\ufb33":1,"\u{1f600}":2,"\u20ac":3,"\ue000":4,"\ud7ff":5}',
      '{"\u20ac":3,"\ud7ff":5,"\u{1f600}":2,"\ue000":4,"\ufb33":1}',
    ],
    [
      'control characters are sorted as what they are, however they are escaped',
      '{"\\u0010":1,"\\n":2,"\\u000e":3,"\\u0007":4,"\\u000b":5}',
      '{"\\u0007":4,"\\n":2,"\\u000b":5,"\\u000e":3,"\\u0010":1}',
    ],
    [
      'names with quotes and backslashes keep their place',
      '{"]":1,"\\\\":2,"[":3,"#":4,"\\"":5,"!":6}',
      '{"!":6,"\\"":5,"#":4,"[":3,"\\\\":2,"]":1}',
    ],
  ])('%s', (_, text, expected) => {
    expect(canonical(text)).toEqual(spelled(expected))
  })

  test('leaves the bytes it was given as they were', () => {
    const bytes = Buffer.from('{"b":"\\u0041","a":1.0}')
    const before = Uint8Array.from(bytes)
    expect(canonicalJson(bytes)).toEqual(spelled('{"a":1,"b":"A"}'))
    expect(Uint8Array.from(bytes)).toEqual(before)
  })

  test('is read from the middle of a larger buffer as from one of its own', () => {
    const within = Buffer.from('xx{"b":1,"a":2}yy').subarray(2, -2)
    expect(canonicalJson(within)).toEqual(spelled('{"a":2,"b":1}'))
    expect(canonicalJson(Uint8Array.from(within))).toEqual(spelled('{"a":2,"b":1}'))
  })
})

describe('what has no canonical form says why', () => {
  test.each([
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{,}',
    '[,1]',
    '{"a"}',
    '{"a":}',
    '{a:1}',
    "{'a':1}",
    '[1 2]',
    '1 2',
    '[1]]',
    '{"a":1]',
    '[1}',
    'tru',
    'True',
    'nullx',
    'NaN',
    'undefined',
    '01',
    '-',
    '-a',
    '+1',
    '1.',
    '.5',
    '1e',
    '1e+',
    '0x1',
    '1_0',
    '"',
    '"a',
    '"\\x"',
    '"\\u12g4"',
    '"\\u123"',
    '"\\',
    '"\t"',
    '"\u0000"',
    '\u00a01',
    '// 1',
    '\ufeff{}',
  ])('%j is not JSON', (text) => {
    expect(() => JSON.parse(text)).toThrow()
    expect(canonical(text)).toEqual(opaque('not_json'))
  })

  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":1}',
    '[{"x":{"é":1,"\\u00e9":2}}]',
    '{"__proto__":1,"__proto__":2}',
  ])('%s names a member twice', (text) => {
    expect(canonical(text)).toEqual(opaque('duplicate_member'))
  })

  test.each([
    '"\\ud800"',
    '"\\udc00"',
    '"\\ude00\\ud83d"',
    '"\\ud83dx"',
    '"\\ud83d\\n"',
    '"\\ud83d\\ud83d\\ude00"',
    '"\\ud83d\u{1f600}"',
    '{"\\udfff":1}',
  ])('%s holds half a character', (text) => {
    expect(canonical(text)).toEqual(opaque('lone_surrogate'))
  })

  test('bytes that are not UTF-8', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc3, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc0, 0xaf, 0x22],
    ]) {
      expect(canonicalJson(Uint8Array.from(bytes))).toEqual(opaque('not_utf8'))
    }
  })

  test('a thousand levels are read and one more is too deep', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(canonical(nested(1_000))).toEqual(spelled(nested(1_000)))
    expect(canonical(nested(1_001))).toEqual(opaque('too_deep'))
    expect(canonical(`${'{"a":'.repeat(1_001)}1${'}'.repeat(1_001)}`)).toEqual(opaque('too_deep'))
  })

  test('a flaw is only reported of a text that is JSON', () => {
    for (const text of ['{"a":1,"a":2', '["\\ud800"', '[1e9999999999999999,}'])
      expect(canonical(text)).toEqual(opaque('not_json'))
  })
})

/** RFC 8785 in its plainest words, for values that have passed through JSON.parse. */
function byTheBook(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(byTheBook).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${byTheBook(inner)}`).join(',')}}`
}

/** The same value in another spelling, chosen by a row of numbers. */
function respelled(value: unknown, choices: readonly number[]): string {
  let turn = 0
  const choose = (count: number) => (choices[turn++ % choices.length] ?? 0) % count
  const blank = () => ['', ' ', '\n', '\t\r '][choose(4)] ?? ''
  const text = (string: string) => {
    const units = Array.from({ length: string.length }, (_, index) => string.charCodeAt(index))
    const raw = string.isWellFormed() ? JSON.stringify(string) : undefined
    if (raw !== undefined && choose(3) === 0) return raw
    const hex = units
      .map((unit) => unit.toString(16).padStart(4, '0'))
      .map((digits) => (choose(2) === 0 ? digits : digits.toUpperCase()))
    return `"${hex.map((digits) => `\\u${digits}`).join('')}"`
  }
  const number = (double: number) =>
    [
      String(double),
      double.toExponential(),
      `${double
        .toExponential()
        .replace('e', '000E')
        .replace(/^(-?\d)000/, '$1.000')}`,
    ][choose(3)] ?? ''
  const spell = (inner: unknown): string => {
    if (Array.isArray(inner))
      return `${blank()}[${blank()}${inner.map(spell).join(`${blank()},${blank()}`)}${blank()}]${blank()}`
    if (typeof inner === 'string') return text(inner)
    if (typeof inner === 'number') return number(inner)
    if (typeof inner !== 'object' || inner === null) return String(inner)
    const members = Object.entries(inner).map(([name, member]) => ({
      place: choose(1_000),
      spelling: `${blank()}${text(name)}${blank()}:${blank()}${spell(member)}`,
    }))
    return `{${members
      .sort((a, b) => a.place - b.place)
      .map(({ spelling }) => spelling)
      .join(',')}${blank()}}`
  }
  return spell(value)
}

const anyJson = fc.jsonValue({ stringUnit: 'binary', maxDepth: 5 })
const choices = fc.array(fc.nat({ max: 10_000 }), { minLength: 20, maxLength: 40 })

describe('for every value', () => {
  test('the form is that of RFC 8785', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = JSON.stringify(value)
        expect(canonical(text)).toEqual(spelled(byTheBook(JSON.parse(text))))
      }),
    )
  })

  test('every spelling has the same form, and the form is its own', () => {
    fc.assert(
      fc.property(anyJson, choices, (value, row) => {
        const form = canonical(JSON.stringify(value))
        expect(canonical(respelled(value, row))).toEqual(form)
        if (form.kind === 'canonical') expect(canonical(form.text)).toEqual(form)
      }),
    )
  })

  test('few members and many are sorted by the book, however their names begin', () => {
    const names = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 6 }), {
      minLength: 2,
      maxLength: 300,
      size: 'max',
    })
    const prefix = fc.constantFrom('', 'p', '\n', '\u{1f600}', 'a\\"', '\ue000')
    fc.assert(
      fc.property(names, prefix, (own, before) => {
        const value = Object.fromEntries(own.map((name) => [before.repeat(3) + name, 0]))
        expect(canonical(JSON.stringify(value))).toEqual(spelled(byTheBook(value)))
      }),
    )
  })

  test('a member named twice is found among many', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 400 }), fc.nat(), fc.nat(), (count, one, other) => {
        const names = Array.from({ length: count }, (_, index) => `m${(index * 7) % count}-${index}`)
        const first = names[one % count] ?? ''
        const members = names.map((name, index) => `"${index === other % count ? first : name}":0`)
        const expected = one % count === other % count ? 'canonical' : 'duplicate_member'
        const result = canonical(`{${members.join(',')}}`)
        expect(result.kind === 'opaque' ? result.reason : result.kind).toBe(expected)
      }),
    )
  })
})

describe('JSON.parse agrees on what is JSON', () => {
  const agrees = (text: string) => {
    const result = canonical(text)
    let isJson = true
    try {
      JSON.parse(text)
    } catch {
      isJson = false
    }
    expect([text, result.kind === 'canonical' || result.reason !== 'not_json']).toEqual([text, isJson])
  }

  test('for texts with one thing changed', () => {
    const marks = fc.constantFrom(
      ...'{}[]:,"\\\t\n -+.eE0159truefalsn/ux',
      '\u0000',
      '\u001f',
      '\ufeff',
      '\\u',
      '""',
      '-0',
      '00',
    )
    fc.assert(
      fc.property(anyJson, fc.nat(), fc.nat({ max: 2 }), marks, (value, place, removed, mark) => {
        const text = JSON.stringify(value)
        const at = place % (text.length + 1)
        const changed = text.slice(0, at) + mark + text.slice(at + removed)
        if (changed.isWellFormed()) agrees(changed)
      }),
      { numRuns: 1_000 },
    )
  })

  test('for any heap of tokens', () => {
    const tokens = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"b"',
      '"\\n"',
      '"\\ud800"',
      '1',
      '-',
      '0',
      '.5',
      'e1',
      'E-',
      'true',
      'null',
      ' ',
      '"\\',
      '"',
    )
    fc.assert(
      fc.property(fc.array(tokens, { maxLength: 12 }), (heap) => agrees(heap.join(''))),
      { numRuns: 3_000 },
    )
  })
})
