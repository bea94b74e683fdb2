import { expect, test } from 'vitest'
import { type FingerprintOptions, fingerprinter } from '../../../src/engine/fingerprint/fingerprinter.js'

const body = `{ "b" : [1.0, true, null, "\\u0041\\/"], "a":{"z":12345678901234567890,"é":-0,"y":""}, "note":"x" }`

const stored: readonly [fingerprint: string, made: FingerprintOptions][] = [
  ['1.sha256.whole:897965056b0687feccf372a40c904474ed152712e92182d6a90f5b157c430f1b', {}],
  [
    '1.hmac-k1.whole:5016e33162830ecc6b99d0b7703793870352dc3da6b819475c6edeb00d95e17c',
    { secret: { keys: { k1: new Uint8Array(32).fill(1) }, current: 'k1' } },
  ],
  ['1.sha256.raw:af61ad740d2af8c52d24afbc78d8a7243f9cfba2787637155bf3c25451727d28', { strategy: { kind: 'raw' } }],
  [
    '1.sha256.fields-afb6e3dd:99c8d34f9876b9617e194c5dd98b72620704cfd27ea01e42afc5463f8fb41742',
    { strategy: { kind: 'fields', select: ['a.z', 'note'] } },
  ],
  [
    '1.sha256.fields-213c7e76:dc824ce1ee12f4d25da92c8d0630da3f9c3ed60cb3cfb988dbc59a1956807f78',
    { strategy: { kind: 'fields', exclude: ['b', 'a.y'] } },
  ],
  [
    '1.sha256.whole.headers-321b9c88.without-query:6c6814a9b9acc3464422bff7f9d7b47c9b8c7cfb8a1c7071e8c61d7909a73ecd',
    { strategy: { kind: 'whole', headers: ['Api-Version'], without: ['query'] } },
  ],
]

// A record outlives a release: were one of these to change, its retry would be told that it is another request.
test.each(stored)('the fingerprint that a record holds is made again: %s', (fingerprint, made) => {
  const source = {
    subject: ['POST', '/payments'],
    query: 'a=1',
    mediaType: 'application/json; charset=utf-8',
    body: Buffer.from(body),
    header: () => '2026',
  }
  expect(fingerprinter(made).of(source)).toBe(fingerprint)
})
