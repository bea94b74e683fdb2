import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { blackBoxGroups, idsIn, judge } from '../../scripts/acceptance/judge.mjs'
import { parseClaims, parseRows } from '../../scripts/acceptance/report.mjs'

const rows = ['S1-001', 'S1-002', 'S2-001', 'S2-002', 'R-1'].map((id) => ({ id, kind: 'WB' }))

type Outcome = 'passed' | 'failed' | 'skipped'

const shown = (title: string, outcome: Outcome = 'passed', groups: readonly string[] = []) => ({
  file: 'test/acceptance/keys.test.ts',
  line: 7,
  title,
  groups,
  outcome,
})

const judged = (tests: readonly ReturnType<typeof shown>[], claimed: readonly string[] = []) =>
  judge({ rows, claimed, tests })

describe('a run passes', () => {
  test('when every claimed id has a passing test, and says where', () => {
    const test = shown('a key runs once [S1-001 R-1]')
    const { problems, citations } = judged([test], ['S1-001', 'R-1'])
    expect(problems).toEqual([])
    expect(citations.get('R-1')).toEqual([test])
  })

  test('when one of two tests of a claimed id passes', () => {
    const tests = [shown('a [S1-001]', 'failed'), shown('b [S1-001]')]
    expect(judged(tests, ['S1-001']).problems).toEqual([])
  })

  test('when an id is cited and not claimed', () => {
    expect(judged([shown('a key runs once [S1-002]')]).problems).toEqual([])
  })
})

describe('a run fails', () => {
  test('for an unknown id', () => {
    expect(judged([shown('a key runs once [S9-001]')]).problems).toEqual([
      'test/acceptance/keys.test.ts:7 cites S9-001, which is not in rows.csv',
    ])
  })

  test('for a title with more than three ids', () => {
    expect(judged([shown('too much [S1-001 S1-002 S2-001 S2-002]')]).problems).toEqual([
      'test/acceptance/keys.test.ts:7 cites 4 rows; 3 are the most',
    ])
  })

  test('for a citing test that is skipped, whatever reason its title gives', () => {
    expect(judged([shown('a key runs once [S1-001] (skipped: no server)', 'skipped')]).problems).toEqual([
      'test/acceptance/keys.test.ts:7 cites S1-001 and is skipped',
    ])
  })

  test('for a claimed id that no test cites', () => {
    expect(judged([], ['S1-001']).problems).toEqual(['S1-001 is claimed and no passing test shows it'])
  })

  test('for a claimed id whose only test fails', () => {
    expect(judged([shown('a [S1-001]', 'failed')], ['S1-001']).problems).toEqual([
      'S1-001 is claimed and no passing test shows it',
    ])
  })

  test('for a claimed id that is no row', () => {
    expect(judged([], ['S9-001']).problems).toEqual(['claimed.txt claims S9-001, which is not in rows.csv'])
  })
})

describe('a black-box row of the seeds', () => {
  const { embedded, postgres } = blackBoxGroups
  const kinds = { 'S0-01': 'BB', 'S1-001': 'DOC/BB', 'S2-001': 'WB', 'R-1': 'BB' }
  const seeds = Object.entries(kinds).map(([id, kind]) => ({ id, kind }))
  const inGroup = (group: string, title: string, outcome: Outcome = 'passed') => shown(title, outcome, [group, 'a key'])
  const problemsOf = (tests: readonly ReturnType<typeof shown>[]) => judge({ rows: seeds, claimed: [], tests }).problems

  const both = [inGroup(embedded, 'a [S0-01 S1-001]'), inGroup(postgres, 'a [S0-01 S1-001]')]
  const first = [inGroup(embedded, 'a [S0-01]'), inGroup(postgres, 'a [S0-01]')]

  test('is shown on the sandbox on both databases; other rows need not be', () => {
    expect(problemsOf(both)).toEqual([])
  })

  test('is not shown by one database, by a test that fails, nor by one outside of the sandbox', () => {
    const missing = [`S1-001 is a black-box row and no passing test of "${postgres}" shows it`]
    const onlyEmbedded = [...first, inGroup(embedded, 'b [S1-001]')]
    expect(problemsOf(onlyEmbedded)).toEqual(missing)
    expect(problemsOf([...onlyEmbedded, inGroup(postgres, 'b [S1-001]', 'failed')])).toEqual(missing)
    expect(problemsOf([...onlyEmbedded, inGroup('on PostgreSQL', 'b [S1-001]')])).toEqual(missing)
    expect(problemsOf([...first, shown('b [S1-001]')])).toHaveLength(2)
  })

  test('is one of many when nothing of a group has run, and that is said once', () => {
    expect(problemsOf([inGroup(embedded, 'a [S0-01 S1-001]')])).toEqual([
      `no test of "${postgres}" passed, which 2 rows need`,
    ])
  })
})

test('totals count each cited row once, by source', () => {
  const { totals } = judged([shown('a [S1-001]'), shown('b [S1-001 S2-002]')])
  expect(totals).toEqual([
    { source: 'S1', cited: 1, all: 2 },
    { source: 'S2', cited: 1, all: 2 },
    { source: 'R', cited: 0, all: 1 },
  ])
})

test('only brackets at the end of a title cite', () => {
  expect(idsIn('the list [1 2] stays sorted')).toEqual([])
  expect(idsIn('a key runs once [S1-001  S2-001]')).toEqual(['S1-001', 'S2-001'])
})

test('claims are one per line, with comments', () => {
  expect(parseClaims('# keys\nS1-001\n\nS1-002 # shown twice\n')).toEqual(['S1-001', 'S1-002'])
})

test('all 519 rows are committed, each with its own id and a kind', () => {
  const rows = parseRows(readFileSync('test/acceptance/rows.csv', 'utf8'))
  expect(new Set(rows.map(({ id }) => id)).size).toBe(519)
  expect(rows).toHaveLength(519)
  expect(rows.filter(({ id }) => !/^(S[0-4]|R|C|G|X)-\d+$/.test(id))).toEqual([])
  expect(rows.filter(({ kind }) => !/^(BB|WB|FI|OPS|CL|DOC)(\/(BB|WB|FI|OPS|CL|DOC))*$/.test(kind))).toEqual([])
  expect(parseRows('id,statement,kind\nS1-001,"one, two ""and"" three",BB\n')).toEqual([{ id: 'S1-001', kind: 'BB' }])
})
