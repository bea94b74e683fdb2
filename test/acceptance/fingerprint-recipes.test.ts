import type { Outcome, PolicyOptions } from 'hapax'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Asked, answer, ask, seen } from './support/ask.js'
import { bytesOf, recordOf } from './support/database.js'
import { framedSha256, plainFingerprint } from './support/fingerprint-recipe.js'
import { openShop } from './support/shop.js'
import { type FileNode, type TestFile, testFile } from './support/test-file.js'

/** How a fingerprint is made, and what becomes of it when recipes and answers change between releases. */

let file: TestFile
let node: FileNode
beforeEach(async () => {
  file = await testFile()
  node = file.node()
})

const ran = answer(201, 'made')

/** How the engine took the request: it ran, got the stored answer, or was refused with this code. */
async function taken(asked: Partial<Asked>, options: Partial<PolicyOptions> = {}): Promise<string> {
  const policy = node.hapax.policy({ name: 'payments.create', ...options })
  return said(await ask(node.hapax, { key: 'k', policy, ...asked }, async () => ran))
}

function said(outcome: Outcome): string {
  if (outcome.kind === 'refused') return outcome.error.code
  return outcome.kind === 'answered' && outcome.replayed ? 'replayed' : 'ran'
}

const misused = 'idempotency_key_reused_with_different_payload'

test('no choice of contents reads like another: parts are told apart by their lengths, not by a sign [S2-032 S2-064]', async () => {
  const pairs: [Partial<Asked>, Partial<Asked>][] = [
    [{ body: '{"a":"x|y","b":"z"}' }, { body: '{"a":"x","b":"y|z"}' }],
    [{ body: '{"a":"1,2"}' }, { body: '{"a":"1","2":""}' }],
    [{ body: '["a","b"]' }, { body: '["a\\",\\"b"]' }],
    [{ body: '{"a":1}' }, { body: '{"a":"1"}' }],
    [{ subject: ['POST', '/a/b'] }, { subject: ['POST/a', '/b'] }],
    [
      { subject: ['POST', '/a'], body: '1' },
      { subject: ['POST'], body: '"/a",1' },
    ],
    [
      { mediaType: 'text/plain', body: 'ab' },
      { mediaType: 'text/plaina', body: 'b' },
    ],
  ]
  for (const [index, [one, other]] of pairs.entries()) {
    expect(await taken({ key: `k${index}`, ...one })).toBe('ran')
    expect(await taken({ key: `k${index}`, ...one })).toBe('replayed')
    expect(await taken({ key: `k${index}`, ...other }), JSON.stringify(other)).toBe(misused)
  }
})

test('a fingerprint is the SHA-256 of the canonical body in UTF-8, and the key is no part of it [S2-034]', async () => {
  const body = '{"currency":"USD","customerId":"c\\u00fc_1","amountCents":1.2e3}'
  await taken({ key: 'one', body })
  await taken({ key: 'two', body: '{"customerId":"cü_1","amountCents":1200,"currency":"USD"}' })
  const { request_fingerprint: fingerprint } = file.row('one')
  expect(file.row('two').request_fingerprint).toBe(fingerprint)
  const recipe = '1.sha256.whole'
  const canonical = '{"amountCents":1200,"currency":"USD","customerId":"cü_1"}'
  const parts = ['hapax fingerprint', recipe, '["POST","/payments"]', '["application/json",""]', 'json', canonical]
  expect(fingerprint).toBe(`${recipe}:${framedSha256(parts).toString('hex')}`)
  expect(fingerprint).toBe(`${recipe}:49ffe43d32e32614490cb9e6fad80738cfee9271c454f6e430cf5c613bd7f9df`)
})

test('the stored fingerprint is the SHA-256 of the canonical request, by a recipe anybody can follow [S1-064 X-26]', async () => {
  const { hapax, policy, path } = await openShop()
  const input = { currency: 'USD', amountCents: 450, customerId: 'cus_1' }
  await hapax.run({ scope: 'acme', key: 'k', input, policy: policy() }, async () => 'paid')
  const canonical = '{"amountCents":450,"currency":"USD","customerId":"cus_1"}'
  expect(recordOf(path, 'k').request_fingerprint).toBe(plainFingerprint('payments.create', canonical))
})

test('every hash names its purpose and the length of each part, so that no two are ever confused [X-26]', async () => {
  const { hapax, policy, path } = await openShop()
  for (const [scope, key] of [
    ['ab', 'c'],
    ['a', 'bc'],
  ] as const) {
    const { replayed } = await hapax.run({ scope, key, policy: policy() }, async () => 'paid')
    expect(replayed).toBe(false)
    const digest = framedSha256(['hapax record 1', scope, key]).subarray(0, 16)
    expect(bytesOf(recordOf(path, key).digest)).toEqual(digest)
  }
  const shifted = { policy: policy(), key: 'shifted', body: '{}' }
  await ask(hapax, { ...shifted, subject: ['POST', '/pay'] }, async () => answer(201, 'paid'))
  expect(seen(await ask(hapax, { ...shifted, subject: ['POST/', 'pay'] }, async () => answer(201, 'twice')))).toBe(
    misused,
  )
})

test('a body without a canonical form is compared byte by byte and counted, or refused where the policy is strict [S2-051]', async () => {
  const bodies = ['{"a":1,"a":2}', '{"a":"\\ud800"}', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, '{"a":']
  for (const [index, body] of bodies.entries()) {
    const key = `k${index}`
    expect(await taken({ key, body })).toBe('ran')
    expect(await taken({ key, body })).toBe('replayed')
    expect(await taken({ key, body: `${body} ` })).toBe(misused)
    expect(await taken({ key: `strict${index}`, body }, { fingerprint: { strict: true } })).toBe('body_not_canonical')
  }
  expect(node.heard.filter(({ name }) => name === 'compared_as_bytes')).toHaveLength(3 * bodies.length)
  expect(file.sql("SELECT * FROM hapax_records WHERE idempotency_key LIKE 'strict%'")).toEqual([])
})

test('which JSON is the same is up to the policy: by default what it means, under raw what it looks like [S2-138]', async () => {
  const spellings = ['{"a":1,"b":[2,3]}', ' {"b":[2,3],\n"a":1.0} ', '{"\\u0061":10e-1,"b":[2,3]}']
  expect(await taken({ body: spellings[0] as string })).toBe('ran')
  for (const body of spellings) expect(await taken({ body }), body).toBe('replayed')
  const raw = { fingerprint: { strategy: { kind: 'raw' } } } as const
  expect(await taken({ key: 'raw', body: spellings[0] as string }, raw)).toBe('ran')
  expect(await taken({ key: 'raw', body: spellings[0] as string }, raw)).toBe('replayed')
  for (const body of spellings.slice(1)) expect(await taken({ key: 'raw', body }, raw), body).toBe(misused)
})

test('multipart, binary, form and empty bodies are told apart to the byte [G-17]', async () => {
  const multipart = (text: string) => `--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${text}\r\n--x--\r\n`
  const bytes = (...last: number[]) => Uint8Array.from([0, 255, 254, 0, 13, 10, ...last])
  const kinds: [mediaType: string, body: string | Uint8Array, other: string | Uint8Array][] = [
    ['multipart/form-data; boundary=x', multipart('1'), multipart('2')],
    ['application/octet-stream', bytes(1), bytes(2)],
    ['application/octet-stream', bytes(), bytes(0)],
    ['application/x-www-form-urlencoded', 'a=1&b=2', 'a=1&b=3'],
    ['application/json', '', '""'],
    ['text/plain', '', ' '],
  ]
  for (const [index, [mediaType, body, other]] of kinds.entries()) {
    const key = `k${index}`
    expect(await taken({ key, mediaType, body }), mediaType).toBe('ran')
    expect(await taken({ key, mediaType, body }), mediaType).toBe('replayed')
    expect(await taken({ key, mediaType, body: other }), mediaType).toBe(misused)
  }
})

test('the path is part of it, however long: the same key on another path is another request [S3-29]', async () => {
  const long = `/accounts/${'a'.repeat(10_000)}`
  expect(await taken({ subject: ['POST', long] })).toBe('ran')
  expect(await taken({ subject: ['POST', long] })).toBe('replayed')
  expect(await taken({ subject: ['POST', `${long}a`] })).toBe(misused)
  expect(await taken({ subject: ['PATCH', long] })).toBe(misused)
})

describe('while a new release is rolled out', () => {
  const before = { fingerprint: {} }
  const strategy = { kind: 'fields', select: ['a'] } as const
  const after = { fingerprint: { strategy, formerly: [{ kind: 'whole' as const }] } }

  test('old records are compared by the recipe they were made by; one that is unknown is no mismatch [G-10]', async () => {
    expect(await taken({ body: '{"a":1,"b":2}' }, before)).toBe('ran')
    expect(await taken({ body: '{"a":1,"b":2}' }, after)).toBe('replayed')
    expect(await taken({ body: '{"a":1,"b":3}' }, after)).toBe(misused)
    expect(await taken({ key: 'new', body: '{"a":1,"b":2}' }, after)).toBe('ran')
    expect(await taken({ key: 'new', body: '{"a":1,"b":3}' }, after)).toBe('replayed')
    const met = file.row('new')
    expect(await taken({ key: 'new', body: '{"a":1,"b":2}' }, before)).toBe('fingerprint_recipe_unknown')
    expect(file.row('new')).toEqual(met)
  })

  test('answers of an older shape are brought to the present one, or replay as they are [G-11 S2-086]', async () => {
    const replay = async (options: Partial<PolicyOptions>) => {
      const policy = node.hapax.policy({ name: 'payments.create', ...options })
      const outcome = await ask(node.hapax, { key: 'k', policy }, async () => ran)
      if (outcome.kind !== 'answered' || outcome.answer.kind !== 'kept') throw new Error(`no answer: ${outcome.kind}`)
      return Buffer.from(outcome.answer.body).toString()
    }
    const upgradeAnswer: PolicyOptions['upgradeAnswer'] = (old, from) =>
      answer(old.status, `${Buffer.from(old.body)}, from version ${from}`)
    expect(await replay({ answerVersion: 1 })).toBe('made')
    expect(file.row('k').response_schema_version).toBe(1)
    expect(await replay({ answerVersion: 3 })).toBe('made')
    expect(await replay({ answerVersion: 3, upgradeAnswer })).toBe('made, from version 1')
    expect(await replay({ answerVersion: 1, upgradeAnswer })).toBe('made')
    expect(file.row('k').response_schema_version).toBe(1)
  })
})
