import { describe, expect, test } from 'vitest'
import { recipeOf } from '../../../src/engine/fingerprint/fingerprint.js'
import { type FingerprintOptions, fingerprinter } from '../../../src/engine/fingerprint/fingerprinter.js'
import type { FingerprintStrategy } from '../../../src/engine/fingerprint/strategy.js'

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

/** The fingerprint of a body under a strategy. */
function under(strategy: FingerprintStrategy, options: FingerprintOptions = {}) {
  const prints = fingerprinter({ ...options, strategy })
  return (body: string | Uint8Array, mediaType = json) =>
    prints.of({ subject: ['POST', '/'], mediaType, body: Buffer.from(body) })
}

const bodies = (values: readonly unknown[]) => values.map((value) => JSON.stringify(value))

describe('raw', () => {
  test('tells apart two spellings of the same JSON', () => {
    const raw = under({ kind: 'raw' })
    expect(raw('{"a":1}')).not.toBe(raw('{ "a":1}'))
    expect(raw('{"a":1}')).toBe(raw('{"a":1}'))
  })
})

describe('selected fields', () => {
  const selected = under({ kind: 'fields', select: ['customerId', 'destination.ref'] })

  test('are all that counts', () => {
    const [one, other] = bodies([
      { customerId: 'c', destination: { ref: 'r', label: 'x' }, note: 'first' },
      { destination: { label: 'y', ref: 'r' }, note: 'second', customerId: 'c' },
    ])
    expect(selected(one ?? '')).toBe(selected(other ?? ''))
  })

  test('that are absent, null, empty, empty inside or something else all differ', () => {
    const texts = bodies([
      { customerId: 'c' },
      { customerId: 'c', destination: { ref: null } },
      { customerId: 'c', destination: { ref: '' } },
      { customerId: 'c', destination: { ref: [] } },
      { customerId: 'c', destination: { ref: {} } },
      { customerId: 'c', destination: { ref: 'r' } },
      { customerId: 'c', destination: null },
      { customerId: 'c', destination: 'r' },
      { customerId: 'c', destination: ['r'] },
      { customerId: 'c', destination: [{ ref: 'r' }] },
      { destination: { ref: 'r' } },
      { customerId: 'r' },
    ])
    expect(new Set(texts.map((text) => selected(text))).size).toBe(texts.length)
  })

  test('never swap places: a value of one field is not that of another', () => {
    const both = under({ kind: 'fields', select: ['a', 'b'] })
    expect(both('{"a":"x|y","b":"z"}')).not.toBe(both('{"a":"x","b":"y|z"}'))
    expect(both('{"a":1}')).not.toBe(both('{"b":1}'))
  })

  test('of which nothing is found compare the whole body', () => {
    expect(selected('{"amount":1}')).not.toBe(selected('{"amount":2}'))
    expect(selected('[1]')).not.toBe(selected('[2]'))
    expect(selected('"x"')).toBe(selected(' "x" '))
  })

  test('are named one by one when a name holds a dot', () => {
    const dotted = under({ kind: 'fields', select: [['a.b', 'c']] })
    expect(dotted('{"a.b":{"c":1},"n":1}')).toBe(dotted('{"a.b":{"c":1},"n":2}'))
    expect(dotted('{"a.b":{"c":1}}')).not.toBe(dotted('{"a.b":{"c":2}}'))
  })

  test('are found under escaped, strange and inherited names', () => {
    const strange = under({ kind: 'fields', select: ['__proto__', 'é', ['line\nend']] })
    expect(strange('{"\\u00e9":1,"n":1}')).toBe(strange('{"é":1,"n":2}'))
    expect(strange('{"__proto__":1}')).not.toBe(strange('{"__proto__":2}'))
    expect(strange('{"line\\u000aend":1,"n":1}')).toBe(strange('{"line\\nend":1}'))
  })

  test('in another order are the same recipe, and other fields are another', () => {
    const recipe = (strategy: FingerprintStrategy) => recipeOf(under(strategy)('{}'))
    expect(recipe({ kind: 'fields', select: ['a', 'b'] })).toBe(recipe({ kind: 'fields', select: ['b', ['a'], 'b'] }))
    expect(recipe({ kind: 'fields', select: ['a', 'b'] })).toMatch(/^1\.sha256\.fields-[0-9a-f]{8}$/)
    const others = [
      { select: ['a'] },
      { exclude: ['a'] },
      { select: ['a.b'] },
      { select: [['a.b']] },
      { select: ['a', 'b'] },
    ] as const
    expect(new Set(others.map((fields) => recipe({ kind: 'fields', ...fields } as FingerprintStrategy))).size).toBe(
      others.length,
    )
  })
})

describe('excluded fields', () => {
  const remaining = under({ kind: 'fields', exclude: ['sentAt', 'client.trace'] })

  test('do not count, and everything else does', () => {
    const first = remaining('{"amount":1,"sentAt":"10:00","client":{"trace":"a","app":"web"}}')
    expect(remaining('{"client":{"app":"web"},"amount":1}')).toBe(first)
    expect(remaining('{"sentAt":"11:00","amount":1,"client":{"app":"web","trace":["b"]}}')).toBe(first)
    expect(remaining('{"amount":2,"client":{"app":"web"}}')).not.toBe(first)
    expect(remaining('{"amount":1,"client":{"app":"ios"}}')).not.toBe(first)
    expect(remaining('{"amount":1}')).not.toBe(first)
  })

  test('are not looked for inside arrays or where there is nothing', () => {
    expect(remaining('{"client":[{"trace":1}]}')).not.toBe(remaining('{"client":[{"trace":2}]}'))
    expect(remaining('{"client":7}')).toBe(remaining('{"client":7,"sentAt":1}'))
    expect(remaining('[{"sentAt":1}]')).not.toBe(remaining('[{"sentAt":2}]'))
  })

  test('leave what stands before and behind them', () => {
    const middle = under({ kind: 'fields', exclude: ['b'] })
    expect(middle('{"a":1,"b":2,"c":3}')).toBe(middle('{"c":3,"a":1}'))
    expect(middle('{"a":1,"b":2,"c":3}')).not.toBe(middle('{"a":1,"b":2}'))
    expect(middle('{"a":1,"b":2,"c":3}')).not.toBe(middle('{"b":2,"c":3}'))
  })

  test('may be all there are', () => {
    expect(remaining('{"sentAt":1}')).toBe(remaining('{}'))
  })
})

describe('fields of a form', () => {
  const selected = under({ kind: 'fields', select: ['amount', 'destination.ref'] })
  const remaining = under({ kind: 'fields', exclude: ['trace'] })

  test('that are selected are all that counts, however they are encoded', () => {
    expect(selected('amount=1+2&note=x', form)).toBe(selected('note=y&%61mount=1%202&&', form))
    expect(selected('amount=12', form)).not.toBe(selected('amount=13', form))
    expect(selected('destination.ref=a', form)).not.toBe(selected('destination.ref=b', form))
  })

  test('that are excluded do not count', () => {
    expect(remaining('a=1&trace=2&b=3', form)).toBe(remaining('trace=&a=1&b=3&trace=4', form))
    expect(remaining('&a=1&&b=3&', form)).toBe(remaining('a=1&b=3', form))
    expect(remaining('a=1&b=3', form)).not.toBe(remaining('b=3&a=1', form))
  })

  test('differ when they are absent, empty, repeated or cut elsewhere', () => {
    const texts = [
      'amount=1',
      'amount=',
      'amount=1&amount=1',
      'amount=1&amount=',
      'amount=1%26amount',
      'amount=1&destination.ref=',
      'amount=1%3D',
      '',
    ]
    expect(new Set(texts.map((text) => selected(text, form))).size).toBe(texts.length)
  })

  test('differ in every byte, though no text holds it', () => {
    expect(selected('amount=%ff', form)).not.toBe(selected('amount=%fe', form))
    expect(selected('amount=%', form)).toBe(selected('amount=%25', form))
    expect(selected('amount=%4', form)).toBe(selected('amount=%254', form))
    expect(selected('amount=%&a', form)).toBe(selected('amount=%25', form))
    expect(selected('amount=%4&1', form)).toBe(selected('amount=%254', form))
    expect(selected('amount=%zz', form)).toBe(selected('amount=%25zz', form))
    expect(selected('amount=%41', form)).toBe(selected('amount=A', form))
  })

  test('of which nothing is found compare the whole form', () => {
    expect(selected('a=1', form)).not.toBe(selected('a=2', form))
  })

  test('a form under no selection is its bytes', () => {
    const whole = under({ kind: 'whole' })
    expect(whole('a=1+2', form)).not.toBe(whole('a=1%202', form))
  })
})

describe('fields of a body that has none', () => {
  test('are all of it, counted, or refused where the policy is strict', () => {
    const reasons: string[] = []
    const strategy = { kind: 'fields', select: ['a'] } as const
    const counting = under(strategy, { onOpaque: (reason) => reasons.push(reason) })
    expect(counting('a=1', 'text/plain')).not.toBe(counting('a=2', 'text/plain'))
    expect(counting('{"a":1,"a":1}')).not.toBe(counting('{"a":1}'))
    expect(reasons).toEqual(['not_json', 'not_json', 'duplicate_member'])
    expect(() => under(strategy, { strict: true })('a=1', 'text/plain')).toThrow(
      expect.objectContaining({ code: 'body_not_canonical' }),
    )
    expect(under(strategy, { strict: true })('', 'text/plain')).toBe(under(strategy)('', 'text/plain'))
  })
})

describe('a header that stands for the body', () => {
  const digested = fingerprinter({ strategy: { kind: 'header', name: 'Content-Digest' } })
  const source = (digest: string | undefined, body = '{}') => ({
    subject: ['POST', '/'],
    mediaType: json,
    body: Buffer.from(body),
    header: (name: string) => (name === 'content-digest' ? digest : undefined),
  })

  test('is all that counts of it', () => {
    expect(digested.of(source('sha-256=:a:', '{"a":1}'))).toBe(digested.of(source('sha-256=:a:', '{"a":2}')))
    expect(digested.of(source('sha-256=:a:'))).not.toBe(digested.of(source('sha-256=:b:')))
  })

  test('must be there', () => {
    const { header: _, ...without } = source('x')
    for (const request of [source(undefined), source(''), without]) {
      expect(() => digested.of(request)).toThrow(
        expect.objectContaining({
          code: 'fingerprint_header_missing',
          message: expect.stringContaining('Content-Digest'),
        }),
      )
    }
  })
})

describe('an own function', () => {
  test('decides alone, with text or bytes', () => {
    const cents = under({
      kind: 'own',
      id: 'cents',
      of: ({ body }) => String(JSON.parse(Buffer.from(body).toString()).cents),
    })
    expect(cents('{"cents":1,"n":1}')).toBe(cents('{"cents":1,"n":2}'))
    expect(cents('{"cents":1}')).not.toBe(cents('{"cents":2}'))
    const bytes = under({ kind: 'own', id: 'bytes', of: ({ body }) => body.subarray(0, 1) })
    expect(bytes('ab')).toBe(bytes('ac'))
    expect(bytes('ab')).not.toBe(bytes('bb'))
  })

  test('is named by its id: the same value under another id is another fingerprint', () => {
    const own = (id: string) => under({ kind: 'own', id, of: () => 'same' })('{}')
    expect(own('v1').split(':')[1]).not.toBe(own('v2').split(':')[1])
  })
})

describe('a strategy that goes without', () => {
  const source = (more: object) => ({ subject: ['POST', '/'], mediaType: json, body: Buffer.from('{"a":1}'), ...more })
  const print = (strategy: FingerprintStrategy, more = {}) => fingerprinter({ strategy }).of(source(more))
  const fields = { kind: 'fields', select: ['a'] } as const

  test('the query or the media type does not compare them, and any other does', () => {
    for (const [unread, more] of [
      ['query', { query: 'x=1' }],
      ['media_type', { mediaType: 'application/vnd.api+json' }],
    ] as const) {
      expect(print(fields, more)).not.toBe(print(fields))
      const without: FingerprintStrategy = { ...fields, without: [unread] }
      expect(print(without, more)).toBe(print(without))
      expect(print(without, { subject: ['POST', '/other'] })).not.toBe(print(without))
      const other: FingerprintStrategy = { ...fields, without: [unread === 'query' ? 'media_type' : 'query'] }
      expect(print(other, more)).not.toBe(print(other))
    }
  })

  test('is another recipe, in whatever order it is said', () => {
    const recipe = (without: FingerprintStrategy['without'] = []) => recipeOf(print({ ...fields, without }))
    expect(new Set([recipe(), recipe(['query']), recipe(['media_type'])]).size).toBe(3)
    expect(recipe(['media_type', 'query'])).toBe(recipe(['query', 'media_type', 'query']))
    expect(recipe([])).toBe(recipeOf(print(fields)))
  })
})

describe('a former strategy', () => {
  const source = { subject: ['POST', '/'], mediaType: json, body: Buffer.from('{"a":1,"b":2}') }
  const former = [{ kind: 'whole' }, { kind: 'fields', select: ['a', 'b'] }] as const
  const now = fingerprinter({ strategy: { kind: 'fields', select: ['a'] }, formerly: former })

  test('is still known while it is listed', () => {
    for (const strategy of former) {
      const print = fingerprinter({ strategy }).of(source)
      expect(now.under(recipeOf(print), source)).toBe(print)
      expect(now.of(source)).not.toBe(print)
    }
    expect(now.under('1.sha256.raw', source)).toBeUndefined()
  })

  test('is known under every key that is listed', () => {
    const secret = { keys: { k1: new Uint8Array(32), k2: new Uint8Array(32).fill(1) }, current: 'k2' }
    const print = fingerprinter({ secret: { ...secret, current: 'k1' } }).of(source)
    expect(fingerprinter({ strategy: { kind: 'raw' }, formerly: former, secret }).under(recipeOf(print), source)).toBe(
      print,
    )
  })
})

test.each<[string, FingerprintStrategy]>([
  ['no fields', { kind: 'fields', select: [] }],
  ['a path without names', { kind: 'fields', exclude: [[]] }],
  ['a header with a colon', { kind: 'header', name: 'a:b' }],
  ['nothing that could be left out', { kind: 'whole', without: ['body' as 'query'] }],
  ['an id with a dot', { kind: 'own', id: 'v1.2', of: () => '' }],
])('a strategy with %s refuses to start', (_, strategy) => {
  expect(() => fingerprinter({ strategy })).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  expect(() => fingerprinter({ formerly: [strategy] })).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
})
