import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withFigures } from '../../scripts/simulation/figures.mjs'
import { onRecord } from '../../scripts/simulation/results.mjs'
import { nameOf, plantedPostgresFaults } from '../conformance/planted-postgres-faults.js'
import { cases } from './cases.js'
import { bugs } from './planted-bugs.mjs'

const page = readFileSync(new URL('../../docs/RELIABILITY.md', import.meta.url), 'utf8')

test('the figures in docs/RELIABILITY.md are those on record', () => {
  expect(page).toBe(withFigures(page, onRecord()))
})

/** What has changed since is for whoever changes it to run again; what has never run is not said to be exhausted or caught. */
test('every case and every planted bug is on record', () => {
  const { cases: exhausted, bugs: caught } = onRecord()
  expect(exhausted.figures.map(({ name }) => name)).toEqual(cases.map(({ name }) => name))
  expect(caught.figures.map(({ bug }) => bug)).toEqual([
    ...bugs.map(({ bug }) => bug),
    ...plantedPostgresFaults.map(nameOf),
  ])
})

test('every seed on record counts once, and none is on record of a case or a code that broke a promise', () => {
  const { campaigns, violations, cases: exhausted } = onRecord()
  const inOrder = campaigns.toSorted((a, b) => a.from - b.from)
  for (const [index, { from, to, schedules, code }] of inOrder.entries()) {
    expect(schedules).toBe(to - from + 1)
    expect(from).toBeGreaterThan(inOrder[index - 1]?.to ?? 0)
    expect(code).toMatch(/^[0-9a-f]{12}$/)
  }
  expect(violations.filter(({ code }) => code === exhausted.code)).toEqual([])
  expect(exhausted.figures.filter(({ isExhausted }) => !isExhausted)).toEqual([])
})
