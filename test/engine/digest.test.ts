import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { digestHex, recordDigest } from '../../src/engine/digest.js'
import { keyOf } from '../../src/engine/key.js'
import { scopeOf } from '../../src/engine/scope.js'

const name = (tenant: string, key: string) => ({ scope: scopeOf(tenant), key: keyOf(key) })

test('a digest is 16 bytes, the same for the same record', () => {
  expect(recordDigest(name('acme', 'k-1'))).toHaveLength(16)
  expect(recordDigest(name('acme', 'k-1'))).toEqual(recordDigest(name('acme', 'k-1')))
})

test('a digest never changes between releases: rows are found by it', () => {
  const framed = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, 0, 0, text.length]), Buffer.from(text)])
  const byHand = createHash('sha256').update(Buffer.concat(['hapax record 1', 'acme', 'k-1'].map(framed)))
  expect(digestHex(name('acme', 'k-1'))).toBe(byHand.digest('hex').slice(0, 32))
  expect(digestHex(name('acme', 'k-1'))).toBe('3329050ecb293d8aa5d95a70cdf2eee9')
})

test('the same key in another scope, or cut elsewhere, is another digest', () => {
  const names = [name('acme', 'k'), name('globex', 'k'), name('acm', 'ek'), name('acmek', 'k'), name('acme', 'kk')]
  expect(new Set(names.map(digestHex)).size).toBe(names.length)
})

test('a digest tells nothing of the key', () => {
  expect(digestHex(name('acme', 'customer-4711'))).toMatch(/^[0-9a-f]{32}$/)
})
