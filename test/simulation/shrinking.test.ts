import { expect, test } from 'vitest'
import { bundled } from '../../scripts/simulation/bundle.mjs'
import { type Line, simulated } from '../../scripts/simulation/child.mjs'
import { bugs } from './planted-bugs.mjs'
import { scenarioOf } from './random.js'

type Failed = Extract<Line, { kind: 'failed' }> & { readonly seed: number }

test('a failure is told by its seed, with nobody in it who has no part in it, up to what breaks the promise', async () => {
  const planted = bugs.find(({ bug }) => bug === 'an effect in doubt is tried again')
  if (planted === undefined) throw new Error('There is no such bug.')
  const bundle = await bundled('shrinking', { edits: [planted.patch].flat() })
  const found = await inACrowd(bundle, 1)
  expect(found.error).toMatch(planted.says ?? /./)
  expect(await simulated(bundle, { kind: 'seed', seed: found.seed })).toEqual(found)
  // One who asks, one line that breaks, and then the worker that asks again although it should not.
  expect(new Set(found.trace.join('\n').match(/client \d/g)).size).toBe(1)
  expect(found.trace.filter((words) => /breaks|lost|stopped|crash/.test(words))).toHaveLength(1)
  expect(found.trace).toContain('from here on nothing goes wrong')
  expect(found.trace.filter((words) => !words.startsWith('→')).length).toBeLessThan(30)
  expect(scenarioOf(found.seed).requests.length).toBeGreaterThan(1)
})

/** The first failure from this seed on in which there is somebody to leave out. */
async function inACrowd(bundle: string, from: number): Promise<Failed> {
  const found = await simulated(bundle, { kind: 'random', from, count: 20_000, ms: 20_000 })
  if (found.kind !== 'failed' || found.seed === undefined) throw new Error('Nobody noticed.')
  const { seed } = found
  return scenarioOf(seed).requests.length > 1 ? { ...found, seed } : inACrowd(bundle, seed + 1)
}
