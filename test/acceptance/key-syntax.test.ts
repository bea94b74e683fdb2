import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { isHapaxError, keyOf, parseKeyHeader } from 'hapax'
import { beforeAll, describe, expect, test } from 'vitest'
import { acme, ask, exchange, pay, post, rawPayment, tea } from '../sandbox/payment-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** What is a key, and what is none. */

const malformed = { status: 400, json: { status: 400, code: 'idempotency_key_malformed' } }

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  describe('a key', () => {
    test('is any opaque string that a client makes up [S2-002]', async () => {
      const keys = [
        randomUUID(),
        '01JGFJJZ00WMRTBBZS6N3V3K1A',
        randomBytes(32).toString('base64'),
        randomBytes(32).toString('hex'),
        'a',
        '~!@#$%^&*()_+-=[]{}|:<>?./',
        `order/17;attempt=1:${randomUUID()}`,
      ]
      for (const key of keys) {
        const body = tea()
        const first = await pay(sandbox, { key, body })
        const again = await pay(sandbox, { key, body })
        expect([first.status, again.headers.get('idempotent-replayed'), again.text], key).toEqual([
          201,
          'true',
          first.text,
        ])
      }
    })

    test('that is missing is asked for with 400, and the server makes none up [S2-049 S3-17 S3-55]', async () => {
      const body = tea()
      for (let time = 0; time < 2; time++) {
        const refused = await post(sandbox, JSON.stringify(body), acme)
        expect(refused).toMatchObject({ status: 400, json: { code: 'idempotency_key_missing' } })
        expect(refused.headers.get('idempotency-key')).toBeNull()
      }
      expect(await sandbox.paymentsOf(body)).toEqual([])
    })

    test('has at most 255 characters [S3-13]', async () => {
      const longest = randomUUID().padEnd(255, 'k')
      expect((await pay(sandbox, { key: longest, body: tea() })).status).toBe(201)
      expect(await pay(sandbox, { key: `${longest}k`, body: tea() })).toMatchObject(malformed)
      expect(await pay(sandbox, { key: `"${longest}k"`, body: tea() })).toMatchObject(malformed)
    })

    test('is nothing exotic: control characters, emoji, ten kilobytes end in 400 and reserve nothing [S3-34]', async () => {
      const body = tea()
      const exotic = [
        'a\x01b',
        'a\x7fb',
        '"a\x1bb"',
        Buffer.from('key 🔑').toString('latin1'),
        'k'.repeat(10_000),
        '""',
      ]
      for (const key of exotic) {
        const answer = await exchange(sandbox, rawPayment(body, [`Idempotency-Key: ${key}`]))
        expect(answer, JSON.stringify(key.slice(0, 20))).toMatch(/^HTTP\/1.1 400 /)
      }
      expect(await sandbox.paymentsOf(body)).toEqual([])
    })

    test('comes in one line and not in a list, even if the same one stands twice [G-12]', async () => {
      const body = tea()
      const key = randomUUID()
      for (const lines of [
        [`Idempotency-Key: ${key}`, `Idempotency-Key: ${key}`],
        [`Idempotency-Key: ${key}`, `idempotency-key: ${randomUUID()}`],
        [`Idempotency-Key: ${key}, ${key}`],
        [`Idempotency-Key: "${key}", "${key}"`],
      ])
        expect(await exchange(sandbox, rawPayment(body, lines)), lines.join()).toMatch(/^HTTP\/1.1 400 /)
      expect(await sandbox.paymentsOf(body)).toEqual([])
      expect(await sandbox.recordsOf(key)).toEqual([])
    })

    test('is spelled in one of three declared ways; by default "k" and k are the same [S2-016]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const first = await pay(sandbox, { key: `"${key}"`, body })
      expect((await pay(sandbox, { key, body })).text).toBe(first.text)
      expect(parseKeyHeader('"k"')).toBe(parseKeyHeader('k'))
      expect(parseKeyHeader('"k"', { syntax: 'string' })).toBe('k')
      expect(codeOf(() => parseKeyHeader('k', { syntax: 'string' }))).toBe('idempotency_key_malformed')
      expect(codeOf(() => parseKeyHeader(key, { syntax: 'string' }))).toBe('idempotency_key_malformed')
      expect(parseKeyHeader('"k"', { syntax: 'raw' })).toBe('"k"')
      expect(parseKeyHeader('k', { syntax: 'raw' })).toBe('k')
    })
  })

  test('a UUID, a ULID, a nanoid and the short sample of the standard are keys [S1-020]', async () => {
    const sample = 'A8Z5MHwQS7jUmZ'
    for (const key of [randomUUID(), '01HZX3J9V6Q8R5T2W4Y7A0B1C3', 'V1StGXR8_Z5jdHi6B-myT', sample]) {
      const attempt = { key, body: tea() }
      const first = await pay(sandbox, attempt)
      const again = await pay(sandbox, attempt)
      expect([first.status, again.text, again.headers.get('idempotent-replayed')], key).toEqual([
        201,
        first.text,
        'true',
      ])
    }
    expect(parseKeyHeader(sample, { maxLength: 40 })).toBe(sample)
  })

  test('the key is read from its header, in any case of its name, and from nowhere else [R-10]', async () => {
    const [body, key] = [tea(), randomUUID()]
    for (const name of ['Idempotency-Key', 'idempotency-key', 'IDEMPOTENCY-KEY']) {
      expect(await exchange(sandbox, rawPayment(body, [`${name}: ${key}`])), name).toMatch(/^HTTP\/1.1 201 /)
    }
    expect(await sandbox.paymentsOf(body)).toHaveLength(1)

    const elsewhere = JSON.stringify({ ...body, idempotencyKey: key, 'Idempotency-Key': key })
    const headers = { ...acme, 'content-type': 'application/json', 'x-idempotency-key': key }
    const refused = await ask(sandbox, `/payments?idempotency-key=${key}`, { method: 'POST', headers, body: elsewhere })
    expect(refused).toMatchObject({ status: 400, json: { code: 'idempotency_key_missing' } })
  })

  test('a POST without the header is refused with 400 and runs nothing [S1-070 S1-102]', async () => {
    const body = tea()
    const refused = await post(sandbox, JSON.stringify(body), acme)
    expect(refused).toMatchObject({ status: 400, json: { status: 400, code: 'idempotency_key_missing' } })
    expect(refused.headers.get('content-type')).toBe('application/problem+json')
    expect(await sandbox.paymentsOf(body)).toEqual([])
  })

  test('255 characters are a key; 256 are refused with 400, and by the table itself [S1-022]', async () => {
    const [longest, tooLong] = [255, 256].map((length) => randomUUID().padEnd(length, 'k')) as [string, string]
    expect((await pay(sandbox, { key: longest })).status).toBe(201)
    expect(await sandbox.recordsOf(longest)).toHaveLength(1)
    expect(await pay(sandbox, { key: tooLong })).toMatchObject({
      status: 400,
      json: { code: 'idempotency_key_malformed' },
    })
    const lengthened = sandbox.change(longest, `idempotency_key = '${tooLong}'`)
    await expect(lengthened).rejects.toThrow(/check constraint/i)
  })

  test('a key in quotes is a String of the structured fields, to the letter of their vectors [S3-20]', async () => {
    const own = await start()
    const body = tea()
    const keys = new Set<string>()
    for (const { raw, expected, must_fail } of [...stringVectors, ...officialVectors()]) {
      const [value = '', ...others] = raw
      // Without quotes it is a token here. A line break would end the line.
      if (!value.trimStart().startsWith('"') || others.length > 0 || /[\r\n]/.test(value)) continue
      const text = expected?.[0]
      const isKey = must_fail !== true && typeof text === 'string' && text !== '' && text.length <= 255
      const answer = await exchange(own, rawPayment(body, [`Idempotency-Key: ${value}`]))
      expect(answer.slice(0, 12), JSON.stringify(raw)).toBe(isKey ? 'HTTP/1.1 201' : 'HTTP/1.1 400')
      if (isKey) expect(await own.recordsOf(text)).toMatchObject([{ status: 'completed' }])
      if (isKey) keys.add(text)
    }
    expect(keys.size).toBeGreaterThan(2)
    expect(await own.paymentsOf(body)).toHaveLength(keys.size)
  })
})

describe('a key, wherever it is read,', () => {
  test('in the strict way is a String of the structured fields, to the letter of their vectors [S3-20]', () => {
    for (const { raw, expected, must_fail } of [...stringVectors, ...officialVectors()]) {
      const text = expected?.[0]
      const isKey = must_fail !== true && typeof text === 'string' && text !== '' && text.length <= 255
      const parsed = resultOf(() => parseKeyHeader(raw, { syntax: 'string' }))
      // Two lines are one String to the structured fields, and two keys to us.
      expect(parsed, JSON.stringify(raw)).toBe(isKey && raw.length === 1 ? text : 'idempotency_key_malformed')
    }
  })

  test('may be asked to be longer: with a minimum of sixteen, fifteen are too few, blanks around it not counted [S2-035]', () => {
    const rules = { minLength: 16 }
    expect(codeOf(() => keyOf('k'.repeat(15), rules))).toBe('idempotency_key_malformed')
    expect(keyOf('k'.repeat(16), rules)).toBe('k'.repeat(16))
    expect(codeOf(() => parseKeyHeader(`  ${'k'.repeat(15)}  `, rules))).toBe('idempotency_key_malformed')
    expect(parseKeyHeader(`  ${'k'.repeat(16)}  `, rules)).toBe('k'.repeat(16))
    expect(parseKeyHeader('k')).toBe('k')
  })
})

test('under the strict syntax a key is one String of RFC 9651, and nothing else is [R-01]', () => {
  const strict = (value: string) => parseKeyHeader(value, { syntax: 'string' })
  expect(strict('"k"')).toBe('k')
  expect(strict('"a\\"b\\\\c"')).toBe('a"b\\c')
  for (const value of ['k', '?1', ':YQ==:', '1', '1.5', '"a", "b"', '("a")', '"a', '"a" b', '@1659578233', '', '""']) {
    const reading = () => strict(value)
    expect(reading, value).toThrow(expect.objectContaining({ code: 'idempotency_key_malformed' }))
  }
})

test('the published format of a key is the one in force, to the last character [R-20]', () => {
  const page = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8')
  const published = /Use (\d+) to (\d+) printable ASCII characters, in one header line/.exec(page)
  const [shortest, longest] = [Number(published?.[1]), Number(published?.[2])]
  const accepted = (lines: string | string[]) => {
    try {
      return parseKeyHeader(lines) !== undefined
    } catch (error) {
      if (isHapaxError(error, 'idempotency_key_malformed')) return false
      throw error
    }
  }
  const lengths = [shortest - 1, shortest, longest, longest + 1]
  expect(lengths.map((length) => accepted('k'.repeat(length)))).toEqual([false, true, true, false])
  for (let code = 0; code < 0x180; code++) {
    const isPrintableAscii = code >= 0x20 && code <= 0x7e
    const character = String.fromCharCode(code).replace(/["\\]/, '\\$&')
    expect(accepted(`"a${character}b"`), `U+${code.toString(16)}`).toBe(isPrintableAscii)
  }
  expect(accepted(['k', 'k'])).toBe(false)
})

interface Vector {
  readonly raw: readonly string[]
  readonly expected?: readonly unknown[]
  readonly must_fail?: boolean
}

const stringVectors: readonly Vector[] = [
  { raw: ['"8e03978e-40d5-43dd-bc93-6894a57f9324"'], expected: ['8e03978e-40d5-43dd-bc93-6894a57f9324'] },
  { raw: ['  "k"  '], expected: ['k'] },
  { raw: ['"k";a=1;b="x"'], expected: ['k'] },
  { raw: ['"a \\"b\\" \\\\ c"'], expected: ['a "b" \\ c'] },
  ...['k', '1', ':aGk=:', '?1', '"k', 'k"', '"k" x', '"k","k"', '"\\k"', '"é"', '"\t"', ''].map((raw) => ({
    raw: [raw],
    must_fail: true,
  })),
]

/** The vectors of the HTTP working group, where they lie next to this repository. */
function officialVectors(): Vector[] {
  const files = ['string', 'string-generated', 'token', 'number', 'boolean', 'binary', 'item']
  const urls = files.map((name) => new URL(`../../../shared/vectors/structured-fields/${name}.json`, import.meta.url))
  return urls.filter((url) => existsSync(url)).flatMap((url) => JSON.parse(readFileSync(url, 'utf8')))
}

/** What a function gives, or the code of what it throws. */
function resultOf(get: () => string): string {
  try {
    return get()
  } catch (error) {
    if (isHapaxError(error)) return error.code
    throw error
  }
}

function codeOf(get: () => string): string {
  const value = resultOf(get)
  return value.startsWith('idempotency_') ? value : 'accepted'
}
