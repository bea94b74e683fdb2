/** The parts of `npm run check` and `npm test`: each is run aloud, timed and judged. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './processes.mjs'
import { root } from './root.mjs'

/**
 * @typedef {'passed' | 'failed' | 'skipped'} Outcome
 *
 * @typedef {object} Part
 * @property {string} name
 * @property {Outcome} outcome
 * @property {number} ms
 */

/**
 * A part that throws has failed. The others still run, so that one run tells everything.
 *
 * @param {string} name
 * @param {() => Promise<Outcome>} work
 * @returns {Promise<Part>}
 */
export async function runPart(name, work) {
  console.log(`\n▸ ${name}`)
  const startedAt = performance.now()
  const outcome = await work().catch((error) => {
    console.error(error)
    return /** @type {const} */ ('failed')
  })
  return { name, outcome, ms: performance.now() - startedAt }
}

/**
 * A script of package.json as a part, without npm in between.
 *
 * @param {string} name
 */
export function runScript(name) {
  return runPart(name, async () => ((await run(script(name))) ? 'passed' : 'failed'))
}

/** @param {string} name */
export function script(name) {
  return String(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts[name])
}

/** @param {readonly Part[]} parts */
export function printTimes(parts) {
  const marks = { passed: '✓', failed: '✗', skipped: '-' }
  console.log()
  for (const { name, outcome, ms } of parts) {
    console.log(`${marks[outcome]} ${name.padEnd(16)}${(ms / 1000).toFixed(1).padStart(6)} s`)
  }
}
