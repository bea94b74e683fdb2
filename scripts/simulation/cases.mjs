/** Every schedule of every small case. */
import { bundled } from './bundle.mjs'
import { simulated } from './child.mjs'
import { tell } from './told.mjs'

/** A case that has more than this is too large to be one. */
const most = 2_000_000

/**
 * @param {string} bundle
 * @param {number} processes
 * @returns {Promise<boolean>} whether all of them are exhausted, and nothing was broken
 */
export async function cases(bundle, processes) {
  const { cases: all } = await import(await bundled('cases', { entry: 'test/simulation/cases.ts' }))
  const waiting = all.map((/** @type {{ name: string }} */ { name }) => name).values()
  let isFine = true
  const lane = async () => {
    for (const name of waiting) {
      const startedAt = performance.now()
      const line = await simulated(bundle, { kind: 'case', name, most })
      if (line.kind === 'case' && line.isExhausted) {
        const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
        console.log(`✓ ${name}: ${line.schedules} schedules, ${line.states} states, exhausted (${seconds} s)`)
        continue
      }
      isFine = false
      if (line.kind === 'failed') tell(line)
      else console.error(`✗ ${name}: more than ${most} schedules, not exhausted`)
    }
  }
  await Promise.all(Array.from({ length: processes }, lane))
  return isFine
}
