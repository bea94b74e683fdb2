import { readdirSync, readFileSync } from 'node:fs'
import { httpConformance } from 'hapax/conformance'
import { expect, test } from 'vitest'
import { httpHarnesses } from '../../support/http-harnesses.js'

const suites = Object.entries(httpHarnesses).map(([name, harness]) => ({ name, cases: httpConformance(harness) }))

test.each(suites)('the $name adapter runs as many cases as every other, and skips none', ({ cases }) => {
  expect(cases.length).toBeGreaterThan(50)
  expect(cases.map(({ name }) => name)).toEqual(suites[0]?.cases.map(({ name }) => name))
  expect(cases.filter(({ skip }) => skip !== undefined)).toEqual([])
})

test('every adapter that has a harness has its file of cases, and the other way round', () => {
  const files = readdirSync(import.meta.dirname).map((file) => file.replace('.test.ts', ''))
  expect(files.filter((name) => name !== 'counts').sort()).toEqual(Object.keys(httpHarnesses).sort())
})

test.each(Object.keys(httpHarnesses))(
  'the file of %s hands the whole suite to its adapter, and leaves nothing out',
  (name) => {
    const text = readFileSync(new URL(`${name}.test.ts`, import.meta.url), 'utf8')
    expect(text).toMatch(new RegExp(`^declareHttpConformance\\(${name}Harness\\)$`, 'm'))
    expect(text.trim().split('\n')).toHaveLength(4)
  },
)

test('no two promises of an adapter share a name', () => {
  for (const { cases } of suites) expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
})
