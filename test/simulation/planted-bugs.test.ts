import { describe, expect, test } from 'vitest'
import { patched } from '../../scripts/simulation/bundle.mjs'
import { cases } from './cases.js'
import { bugs } from './planted-bugs.mjs'

/** `npm run simulate -- --sabotage` plants them; here each is looked at, so that none goes out of date unseen. */
describe('a planted bug', () => {
  test.each(bugs.map((planted) => [planted.bug, planted] as const))(
    'still applies to the source: %s',
    (_, { patch }) => {
      const edits = [patch].flat()
      for (const { file } of edits) expect(patched(file, edits)).not.toBe('')
    },
  )

  test('names a case that there is, where a case is to catch it', () => {
    const known = cases.map(({ name }) => name)
    const named = bugs.flatMap(({ caughtBy }) => ('case' in caughtBy ? [caughtBy.case] : []))
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  })

  test('names the promise that it breaks, where no case of the suite is about that alone', () => {
    const vague = bugs.filter(({ caughtBy, says }) => !('suite' in caughtBy) && (says === undefined || says.test('-')))
    expect(vague.map(({ bug }) => bug)).toEqual([])
  })

  test('is not planted twice', () => {
    expect(new Set(bugs.map(({ bug }) => bug)).size).toBe(bugs.length)
  })
})
