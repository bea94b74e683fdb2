import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type CanonicalOptions, canonicalJson } from '../../dist/engine/canonical/canonical.js'
import { bitsOf, numberSequence } from './support/number-sequence.js'

/** RFC 8785, held against what others publish about it. */

test('objects in objects, arrays, escapes and names of every script come out as RFC 8785 says [S2-033]', () => {
  const cases: [source: string, canonical: string][] = [
    ['{"b":{"d":1,"c":[{"f":true,"e":null}]},"a":[]}', '{"a":[],"b":{"c":[{"e":null,"f":true}],"d":1}}'],
    ['[56,{"d":true,"10":null,"1":[]}]', '[56,{"1":[],"10":null,"d":true}]'],
    ['"\\u0041\\/\\u000a\\u001F\\u2028\\ud83d\\ude00"', '"A/\\n\\u001f\u2028\u{1f600}"'],
    ['{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u20ac":3,"\\r":4}', '{"\\r":4,"\u20ac":3,"\u{1f600}":2,"\ufb33":1}'],
    ['[4.50,2e-3,1E30,0.000000000000000000000000001,-0,1e21,123456789]', '[4.5,0.002,1e+30,1e-27,0,1e+21,123456789]'],
    [' { "a" : [ ] , "" : { } } ', '{"":{},"a":[]}'],
  ]
  for (const [source, canonical] of cases) expect(canonicalOf(source)).toBe(canonical)
  const folder = new URL('../../../shared/vectors/jcs/', import.meta.url)
  for (const name of existsSync(folder) ? readdirSync(new URL('input', folder)) : []) {
    const source = readFileSync(new URL(`input/${name}`, folder), 'utf8')
    const canonical = readFileSync(new URL(`output/${name}`, folder), 'utf8')
    expect(canonicalOf(source, { numbers: 'ieee754' }), name).toBe(canonical)
  }
})

test('ten thousand numbers have the spelling whose hash is published, from every way of writing them [S2-033]', () => {
  const published = {
    1000: 'be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687',
    10000: 'b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892',
  }
  const spellings: [(value: number) => string, CanonicalOptions][] = [
    [(value) => `${signOf(value)}${Math.abs(value).toExponential().replace('e', 'E')}`, {}],
    [(value) => `${signOf(value)}${Math.abs(value).toPrecision(17)}`, { numbers: 'ieee754' }],
  ]
  for (const [spell, options] of spellings) {
    const hash = createHash('sha256')
    const hashes: Record<number, string> = {}
    let lines = 0
    for (const value of numberSequence()) {
      hash.update(`${bitsOf(value)},${canonicalOf(spell(value), options)}\n`)
      if (++lines in published) hashes[lines] = hash.copy().digest('hex')
      if (lines === 10_000) break
    }
    expect(hashes).toEqual(published)
  }
})

test('and two different numbers are never merged, though RFC 8785 would merge them [S2-033]', () => {
  const [one, other] = ['12345678901234567890', '12345678901234567891']
  expect(canonicalOf(one)).not.toBe(canonicalOf(other))
  expect(canonicalOf(one, { numbers: 'ieee754' })).toBe(canonicalOf(other, { numbers: 'ieee754' }))
})

function canonicalOf(source: string, options: CanonicalOptions = {}): string {
  const form = canonicalJson(Buffer.from(source), options)
  if (form.kind === 'opaque') throw new Error(`${source} has no canonical form: ${form.reason}`)
  return form.text
}

function signOf(value: number): string {
  return value < 0 || Object.is(value, -0) ? '-' : ''
}
