/** Every schedule of small cases. */
import { bundled } from './bundle.mjs'
import { simulated } from './child.mjs'
import { namesWith, tell } from './told.mjs'

/** A case that has more than this is too large to be one. */
const most = 2_000_000

/**
 * @param {string} bundle
 * @param {number} processes
 * @param {string} words that are in the name of each that is run
 * @returns {Promise<readonly Exhausted[] | undefined>} `undefined` when one of them is not exhausted, or a promise was broken
 *
 * Of its schedules so many were cut: left where they go on like an earlier one.
 * @typedef {{ name: string, schedules: number, cut: number, states: number, isExhausted: boolean }} Exhausted
 */
export async function cases(bundle, processes, words) {
  const { cases: all } = await import(await bundled('cases', { entry: 'test/simulation/cases.ts' }))
  const known = all.map((/** @type {{ name: string }} */ { name }) => name)
  const names = namesWith(words, known, 'case')
  if (names.length === 0) return undefined
  const waiting = names.values()
  /** @type {Exhausted[]} */
  const done = []
  const lane = async () => {
    for (const name of waiting) {
      const startedAt = performance.now()
      const line = await simulated(bundle, { kind: 'case', name, most })
      if (line.kind === 'case' && line.isExhausted) {
        const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
        const { schedules, cut, states, isExhausted } = line
        const left = `${cut} of them left where they go on like an earlier one`
        console.log(`✓ ${name}: ${schedules} schedules, ${left}, ${states} states, exhausted (${seconds} s)`)
        done.push({ name, schedules, cut, states, isExhausted })
        continue
      }
      if (line.kind === 'failed') tell(line)
      else console.error(`✗ ${name}: more than ${most} schedules, not exhausted`)
    }
  }
  await Promise.all(Array.from({ length: processes }, lane))
  const inOrder = done.toSorted((a, b) => names.indexOf(a.name) - names.indexOf(b.name))
  return done.length === names.length ? inOrder : undefined
}
