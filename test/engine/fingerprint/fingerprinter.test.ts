import { createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { equalFingerprints, type Fingerprint, recipeOf } from '../../../src/engine/fingerprint/fingerprint.js'
import { fingerprinter } from '../../../src/engine/fingerprint/fingerprinter.js'
import type { FingerprintSource } from '../../../src/engine/fingerprint/source.js'

const json = 'application/json'

function request(body: string | Uint8Array, more: Partial<FingerprintSource> = {}): FingerprintSource {
  return { subject: ['POST', '/payments'], mediaType: json, body: Buffer.from(body), ...more }
}

const plain = fingerprinter()
const hashOf = (print: Fingerprint) => print.slice(print.lastIndexOf(':') + 1)

describe('the whole body', () => {
  test('is told apart from others, whichever request came right before it', () => {
    const raw = fingerprinter({ strategy: { kind: 'raw' } })
    const requests = [
      request('{}'),
      request('{}', { subject: ['POST', '/payments/1'] }),
      request('{}', { subject: ['POST', '/payments', 'x'] }),
      request('{}', { query: 'a=1' }),
      request('{}', { mediaType: 'application/json; v=2' }),
    ]
    const makers = [plain, raw].flatMap(({ of }) => requests.map((source) => () => of(source)))
    const prints = makers.map((made) => made())
    expect(new Set(prints).size).toBe(makers.length)
    for (const before of makers)
      for (const [index, made] of makers.entries()) {
        before()
        expect(made()).toBe(prints[index])
      }
  })

  test('is the same request in every spelling', () => {
    const print = plain.of(request('{"amountCents":1200,"currency":"EUR"}'))
    for (const body of [
      '{"currency":"EUR","amountCents":1200}',
      ' { "amountCents" : 1.2e3, "currency":"\\u0045UR" }\n',
    ]) {
      expect(plain.of(request(body))).toBe(print)
    }
  })

  test.each([
    ['another amount', request('{"amountCents":1201}')],
    ['another number that is the same double', request('{"amountCents":1200.0000000000000000001}')],
    ['an amount as text', request('{"amountCents":"1200"}')],
    ['one member more', request('{"amountCents":1200,"note":null}')],
    ['another path', request('{"amountCents":1200}', { subject: ['POST', '/refunds'] })],
    ['another method', request('{"amountCents":1200}', { subject: ['PATCH', '/payments'] })],
    ['another media type', request('{"amountCents":1200}', { mediaType: 'application/vnd.acme+json' })],
    ['no media type', request('{"amountCents":1200}', { mediaType: undefined })],
    ['no body', request('')],
  ])('differs for %s', (_, other) => {
    expect(plain.of(other)).not.toBe(plain.of(request('{"amountCents":1200}')))
  })

  test('does not know the key: the same request under two keys has one fingerprint', () => {
    const header = (key: string) => (name: string) => (name === 'idempotency-key' ? key : undefined)
    expect(plain.of(request('{}', { header: header('k-1') }))).toBe(plain.of(request('{}', { header: header('k-2') })))
  })

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ;',
  ])('%s is JSON', (mediaType) => {
    expect(plain.of(request('{"a":1}', { mediaType }))).toBe(plain.of(request('{ "a": 1 }')))
  })

  test('of a suffix +json is JSON, and of anything else it is bytes', () => {
    const pair = (mediaType: string) => ['{"a":1}', '{ "a":1}'].map((body) => plain.of(request(body, { mediaType })))
    expect(new Set(pair('application/merge-patch+json')).size).toBe(1)
    expect(new Set(pair('text/plain')).size).toBe(2)
    expect(new Set(pair('application/json-seq')).size).toBe(2)
  })

  test('of parameters that mean something is another one, in whatever order they stand', () => {
    const of = (mediaType: string) => plain.of(request('x', { mediaType }))
    expect(of('text/plain; charset=latin1')).not.toBe(of('text/plain'))
    expect(of('text/plain; charset=latin1')).toBe(of('text/plain;Charset="LATIN1"'))
    expect(of('text/plain; a=1; b=2')).toBe(of('text/plain; b=2;a=1'))
    expect(of('text/plain; a="x;charset=utf-8;y"')).not.toBe(of('text/plain; a="x;y"'))
    expect(of('text/plain; a="x;y"')).not.toBe(of('text/plain; a="z;y"'))
    expect(of('multipart/form-data; boundary=a')).not.toBe(of('multipart/form-data; boundary=b'))
  })

  test('that is empty, binary or multipart is compared byte by byte', () => {
    const everyByte = Uint8Array.from({ length: 256 }, (_, index) => index)
    const other = everyByte.with(128, 0)
    const binary = { mediaType: 'application/octet-stream' }
    const multipart = { mediaType: 'multipart/form-data; boundary=b' }
    const prints = [
      request('', { mediaType: undefined }),
      request(everyByte, binary),
      request(other, binary),
      request(everyByte, multipart),
      request('', multipart),
    ]
    expect(new Set(prints.map(plain.of)).size).toBe(prints.length)
    expect(plain.of(request(everyByte, binary))).toBe(plain.of(request(Buffer.from(everyByte), binary)))
  })
})

describe('no choice of delimiters makes two requests one', () => {
  test.each([
    ['values', request('{"a":"x|y","b":"z"}'), request('{"a":"x","b":"y|z"}')],
    ['values with quotes', request('{"a":"x\\",\\"b\\":\\"y"}'), request('{"a":"x","b":"y"}')],
    ['subjects', request('', { subject: ['a', 'b'] }), request('', { subject: ['ab'] })],
    ['empty subjects', request('', { subject: ['a', ''] }), request('', { subject: ['', 'a'] })],
    ['subject and body', request('b', { subject: ['a'] }), request('', { subject: ['a', 'b'] })],
    ['media type and body', request('x', { mediaType: 'text/plain' }), request('plainx', { mediaType: 'text/' })],
    ['broken characters', request('', { subject: ['\ud800'] }), request('', { subject: ['\ufffd'] })],
  ])('%s', (_, one, other) => {
    expect(plain.of(one)).not.toBe(plain.of(other))
  })

  test('canonical JSON is never taken for bytes that look like it', () => {
    const twice = '{"a":1,"a":1}'
    expect(plain.of(request(twice))).not.toBe(plain.of(request('{"a":1}')))
    const raw = fingerprinter({ strategy: { kind: 'raw' } })
    expect(hashOf(raw.of(request('{"a":1}')))).not.toBe(hashOf(plain.of(request('{"a":1}'))))
  })
})

describe('a body without a canonical form', () => {
  const bodies = [
    ['not_json', '{'],
    ['duplicate_member', '{"a":1,"a":2}'],
    ['lone_surrogate', '"\\ud800"'],
    ['too_deep', '['.repeat(2_000)],
    ['number_out_of_range', '1e99999999999999999999'],
    ['not_utf8', Uint8Array.of(0x22, 0xff, 0x22)],
  ] as const

  test.each(bodies)('(%s) is compared byte by byte, and counted once', (reason, body) => {
    const reasons: string[] = []
    const counting = fingerprinter({ onOpaque: (why) => reasons.push(why) })
    const print = counting.of(request(body))
    expect(counting.under(recipeOf(print), request(body))).toBe(print)
    expect(reasons).toEqual([reason])
    expect(counting.of(request(Buffer.concat([Buffer.from(body), Buffer.from(' ')])))).not.toBe(print)
  })

  test.each(bodies)('(%s) is refused where the policy is strict', (reason, body) => {
    const strict = fingerprinter({ strict: true })
    expect(() => strict.of(request(body))).toThrow(
      expect.objectContaining({
        code: 'body_not_canonical',
        fault: 'caller',
        message: expect.stringContaining(reason),
      }),
    )
    expect(strict.under('1.sha256.whole', request(body))).toBe(plain.of(request(body)))
  })

  test('is none that is empty, or that nobody looks into', () => {
    const strict = fingerprinter({ strict: true })
    expect(strict.of(request(''))).toBe(plain.of(request('')))
    expect(strict.of(request('{', { mediaType: 'text/plain' }))).toBe(
      plain.of(request('{', { mediaType: 'text/plain' })),
    )
    expect(fingerprinter({ strict: true, strategy: { kind: 'raw' } }).of(request('{'))).toMatch(/^1\.sha256\.raw:/)
  })
})

describe('the recipe', () => {
  /** What release 1 hashes, put together by hand. Changing it needs a new version, or every stored record mismatches. */
  const parts = [
    'hapax fingerprint',
    '1.sha256.whole',
    '["POST","/payments"]',
    '["application/json",""]',
    'json',
    '{"a":1}',
  ]
  const framed = (texts: readonly string[]) =>
    Buffer.concat(texts.map((text) => Buffer.concat([Buffer.from([0, 0, 0, 0, 0, text.length]), Buffer.from(text)])))

  test('of version 1 is SHA-256 over lengths and parts, and never changes', () => {
    const print = plain.of(request('{ "a": 1 }'))
    expect(print).toBe(`1.sha256.whole:${createHash('sha256').update(framed(parts)).digest('hex')}`)
    expect(print).toBe('1.sha256.whole:397fb905f55ff0ecb2d2c5ff8387ee723e4849f32292da7fafd3a3b2e590f1ad')
  })

  test('with a secret is HMAC-SHA-256 and names its key', () => {
    const k1 = new Uint8Array(32).fill(1)
    const keyed = fingerprinter({ secret: { keys: { k1 }, current: 'k1' } })
    const text = framed(parts.with(1, '1.hmac-k1.whole'))
    expect(keyed.of(request('{"a":1}'))).toBe(`1.hmac-k1.whole:${createHmac('sha256', k1).update(text).digest('hex')}`)
  })

  test('is carried by the fingerprint, before its last colon', () => {
    expect(recipeOf(plain.of(request('{}')))).toBe('1.sha256.whole')
    expect(hashOf(plain.of(request('{}')))).toMatch(/^[0-9a-f]{64}$/)
  })

  test('names version, algorithm, key and strategy, and holds no colon', () => {
    const secret = { keys: { k2: new Uint8Array(64) }, current: 'k2' }
    const strategies = [
      { kind: 'raw' },
      { kind: 'header', name: 'Content-Digest' },
      { kind: 'own', id: 'v3', of: () => 'x' },
    ] as const
    const header = () => 'sha-256=:x:'
    const recipes = strategies.map((strategy) =>
      recipeOf(fingerprinter({ strategy, secret }).of(request('{}', { header }))),
    )
    expect(recipes).toEqual(['1.hmac-k2.raw', '1.hmac-k2.header-content-digest', '1.hmac-k2.own-v3'])
  })
})

describe('rotating the secret', () => {
  const k1 = new Uint8Array(32).fill(1)
  const k2 = new Uint8Array(32).fill(2)
  const before = fingerprinter({ secret: { keys: { k1 }, current: 'k1' } })
  const after = fingerprinter({ secret: { keys: { k1, k2 }, current: 'k2' } })
  const retired = fingerprinter({ secret: { keys: { k2 }, current: 'k2' } })
  const source = request('{"pin":"1234"}')

  test('changes every fingerprint', () => {
    expect(hashOf(after.of(source))).not.toBe(hashOf(before.of(source)))
    expect(hashOf(before.of(source))).not.toBe(hashOf(plain.of(source)))
  })

  test('leaves those of the old key comparable for as long as it is listed', () => {
    const old = before.of(source)
    expect(after.under(recipeOf(old), source)).toBe(old)
    expect(retired.under(recipeOf(old), source)).toBeUndefined()
  })

  test('leaves those from before there was a secret comparable', () => {
    const old = plain.of(source)
    expect(after.under(recipeOf(old), source)).toBe(old)
    expect(plain.under(recipeOf(before.of(source)), source)).toBeUndefined()
  })
})

describe('a secret is refused', () => {
  const invalid = expect.objectContaining({ code: 'policy_invalid' })

  test('when it is shorter than 32 bytes', () => {
    expect(() => fingerprinter({ secret: { keys: { k1: new Uint8Array(31) }, current: 'k1' } })).toThrow(invalid)
  })

  test('when the current one is not listed', () => {
    for (const current of ['k2', 'toString', '__proto__']) {
      expect(() => fingerprinter({ secret: { keys: { k1: new Uint8Array(32) }, current } })).toThrow(invalid)
    }
  })

  test('when its id could be mistaken for another part of the recipe', () => {
    for (const id of ['a:b', 'a.b', '', 'a b', 'k'.repeat(65)]) {
      expect(() => fingerprinter({ secret: { keys: { [id]: new Uint8Array(32) }, current: id } })).toThrow(invalid)
    }
  })
})

test('an unknown recipe is unknown, whatever it is called', () => {
  for (const recipe of ['', '2.sha256.whole', '1.sha256.raw', 'constructor', '1.hmac-k9.whole']) {
    expect(plain.under(recipe, request('{}'))).toBeUndefined()
  }
})

test('fingerprints are equal when they are the same text, and only then', () => {
  const [one, same, other] = [plain.of(request('{"a":1}')), plain.of(request('{ "a":1}')), plain.of(request('{"a":2}'))]
  expect(equalFingerprints(one, same)).toBe(true)
  expect(equalFingerprints(one, other)).toBe(false)
  expect(equalFingerprints(one, '' as Fingerprint)).toBe(false)
})
