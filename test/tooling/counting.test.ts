import { resolve } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { count } from '../../scripts/count.mjs'
import type { Part } from '../../scripts/parts.mjs'
import { reportFailures, reportSkips, resultsOf } from '../../scripts/vitest.mjs'

const part = (name: string, outcome: Part['outcome']): Part => ({ name, outcome, ms: 1 })

const report = (status: string, ...tests: readonly { title: string; status: string }[]) => ({
  testResults: [
    {
      name: resolve('test/a.test.ts'),
      status,
      assertionResults: tests.map((test) => ({ ...test, ancestorTitles: ['a store'], location: { line: 3 } })),
    },
  ],
})

const nothing = { tests: [], brokenFiles: [], unheard: [] }

describe('the last line of npm test counts', () => {
  test('every test, and every part that is not made of tests', () => {
    const results = resultsOf(
      report(
        'failed',
        { title: 'a', status: 'passed' },
        { title: 'b', status: 'failed' },
        { title: 'c', status: 'todo' },
      ),
    )
    const parts = [part('lint', 'passed'), part('tests', 'failed'), part('postgres', 'skipped')]
    expect(count(parts, results)).toEqual({ passed: 2, failed: 1, skipped: 2 })
  })

  test('a test file that cannot be loaded as a failure', () => {
    expect(count([part('tests', 'failed')], resultsOf(report('failed')))).toMatchObject({ failed: 1 })
  })

  test('an error that nobody caught as a failure, though every test has passed', () => {
    const results = resultsOf(report('passed', { title: 'a', status: 'passed' }), ['Error: late', 'Error: later'])
    expect(count([part('tests', 'failed')], results)).toEqual({ passed: 1, failed: 2, skipped: 0 })
  })

  test('a runner that crashes as a failure', () => {
    expect(count([part('tests', 'failed')], nothing)).toMatchObject({ failed: 1 })
  })
})

describe('a skipped test', () => {
  const skips = (title: string) => {
    const say = vi.spyOn(console, 'log').mockReturnValue()
    const complain = vi.spyOn(console, 'error').mockReturnValue()
    try {
      return { passed: reportSkips(resultsOf(report('passed', { title, status: 'skipped' }))), said: say.mock.calls }
    } finally {
      say.mockRestore()
      complain.mockRestore()
    }
  }

  test('is listed with its reason', () => {
    const title = 'keeps rows (skipped: it has none)'
    expect(skips(title)).toEqual({ passed: true, said: [[`test/a.test.ts:3 a store › ${title}`]] })
  })

  test('without a reason fails the run', () => {
    expect(skips('keeps rows').passed).toBe(false)
  })
})

test('what failed is said once more at the end, with its reason', () => {
  const complain = vi.spyOn(console, 'error').mockReturnValue()
  const failed = { title: 'b', status: 'failed', failureMessages: ['Error: broken\n    at b.ts:1'] }
  reportFailures(resultsOf(report('failed', { title: 'a', status: 'passed' }, failed)))
  reportFailures(resultsOf(report('failed')))
  reportFailures(resultsOf(report('passed'), ['Error: late (test/a.test.ts › a)']))
  const said = complain.mock.calls.flat()
  complain.mockRestore()
  expect(said).toEqual([
    '\n✗ test/a.test.ts:3 a store › b',
    'Error: broken\n    at b.ts:1',
    '\n✗ test/a.test.ts could not be run',
    '\n✗ nobody caught Error: late (test/a.test.ts › a)',
  ])
})
