import { readdirSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

/** An adapter translates and decides nothing: which status means what is said in `src/http`, once for all of them. */
const folder = new URL('../../src/adapters/', import.meta.url)
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))

test.each(files)('there is no status number in %s', (name) => {
  expect(statusesIn(readFileSync(new URL(name, folder), 'utf8'))).toEqual([])
})

test('there are adapters to look at', () => {
  expect(files).toEqual(expect.arrayContaining(['express.ts', 'fastify.ts', 'fetch.ts', 'node.ts']))
})

describe('a status number', () => {
  test.each(['response.writeHead(500)', 'const is = status >= 0x1f4', "headers[':status'] = '404'", 'send(`503`)'])(
    'is found in %s',
    (text) => {
      expect(statusesIn(text)).toHaveLength(1)
    },
  )

  test.each([
    '// That is a 500.',
    '/** Answers 404. */',
    'const kept = [99, 600, 1024]',
    "const message = 'over 400 of them'",
  ])('is not seen in %s', (text) => {
    expect(statusesIn(text)).toEqual([])
  })
})

/** The numbers from 100 to 599 in a source, as numbers or as texts of nothing else. Comments are no part of its tree. */
function statusesIn(source: string): string[] {
  const found: string[] = []
  const look = (node: ts.Node) => {
    if ((ts.isNumericLiteral(node) || ts.isStringLiteralLike(node)) && /^[1-5]\d\d$/.test(node.text)) {
      found.push(node.text)
    }
    ts.forEachChild(node, look)
  }
  look(ts.createSourceFile('adapter.ts', source, ts.ScriptTarget.Latest))
  return found
}
