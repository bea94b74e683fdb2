import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../src/engine/canonical/canonical.js'
import { parseKeyHeader } from '../src/http/header.js'

/** The official vectors lie beside the project and not in it. The project's own cases cover the same ground. */
const vectors = new URL('../../shared/vectors/', import.meta.url)
const filesIn = (folder: string) => readdirSync(new URL(folder, vectors))
const read = (path: string) => readFileSync(new URL(path, vectors), 'utf8').trimEnd()

interface StructuredField {
  readonly name: string
  readonly raw: readonly string[]
  readonly header_type: 'item' | 'list' | 'dictionary'
  readonly expected?: readonly unknown[]
  readonly must_fail?: boolean
}

if (existsSync(vectors)) {
  describe('RFC 8785', () => {
    test.each(filesIn('jcs/input/'))('%s has the published form', (file) => {
      const result = canonicalJson(Buffer.from(read(`jcs/input/${file}`)), { numbers: 'ieee754' })
      expect(result).toEqual({ kind: 'canonical', text: read(`jcs/output/${file}`) })
    })

    test.each(filesIn('jcs/output/'))('%s is its own form, in which no number is lost', (file) => {
      const text = read(`jcs/output/${file}`)
      expect(canonicalJson(Buffer.from(text))).toEqual({ kind: 'canonical', text })
    })
  })

  describe('RFC 9651', () => {
    const fieldsIn = (file: string): readonly StructuredField[] => JSON.parse(read(`structured-fields/${file}`))

    test.each(filesIn('structured-fields/'))(
      '%s: a String that may be a key is that key, all else is refused',
      (file) => {
        for (const field of fieldsIn(file))
          expect([field.name, keyIn(field.raw)]).toEqual([field.name, keyOfVector(field)])
      },
    )

    test('there are many keys and many refusals among them', () => {
      const keys = fieldsIn('string-generated.json').map(({ raw }) => keyIn(raw))
      expect(keys.filter((key) => key !== undefined).length).toBeGreaterThan(90)
      expect(keys.filter((key) => key === undefined).length).toBeGreaterThan(90)
    })
  })
} else {
  test.skip('the official vectors pass (skipped: there is no folder ../shared/vectors)', () => {})
}

function keyIn(raw: readonly string[]): string | undefined {
  try {
    return parseKeyHeader(raw, { syntax: 'string' })
  } catch {
    return undefined
  }
}

/** What a vector says the key is: the one String of its one line. RFC 9651 would join two lines, we refuse them. */
function keyOfVector({ raw, header_type, must_fail, expected = [] }: StructuredField): string | undefined {
  if (must_fail === true || raw.length !== 1) return undefined
  const [item, ...others] = header_type === 'list' ? expected : [expected]
  if (others.length > 0 || !Array.isArray(item)) return undefined
  const [bare] = item
  return typeof bare === 'string' && /^[\x20-\x7e]{1,255}$/.test(bare) ? bare : undefined
}
