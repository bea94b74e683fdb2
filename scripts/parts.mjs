/** The parts of `npm run check` and `npm test`: each is a script of package.json or a function, timed and judged. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { root } from './root.mjs'

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {boolean} passed
 * @property {number} ms
 */

/**
 * Runs one part aloud. A part that throws has failed; the others still run, so that one run tells everything.
 *
 * @param {string} name
 * @param {() => Promise<boolean>} run
 * @returns {Promise<Part>}
 */
export async function part(name, run) {
  console.log(`\n▸ ${name}`)
  const startedAt = performance.now()
  const passed = await run().catch((error) => {
    console.error(error)
    return false
  })
  return { name, passed, ms: performance.now() - startedAt }
}

/**
 * Runs a script of package.json without npm in between: quicker, and signals reach it.
 *
 * @param {string} name
 * @param {{ args?: readonly string[], env?: Record<string, string>, stdout?: NodeJS.WriteStream }} [options]
 * @returns {Promise<boolean>} whether it ended with 0
 */
export function runScript(name, { args = [], env = {}, stdout = process.stdout } = {}) {
  /** @type {{ scripts: Record<string, string> }} */
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`
  const child = spawn([scripts[name], ...args].join(' '), {
    cwd: root,
    shell: true,
    stdio: ['inherit', stdout, 'inherit'],
    env: { ...process.env, ...env, PATH: path },
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}

/** @param {readonly Part[]} parts */
export function printTimes(parts) {
  console.log()
  for (const { name, passed, ms } of parts) {
    console.log(`${passed ? '✓' : '✗'} ${name.padEnd(16)} ${(ms / 1000).toFixed(1).padStart(6)} s`)
  }
}
