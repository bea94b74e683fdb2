/** A process that simulates, and what it says. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'

/**
 * What it says of a task: what it has done, or how a promise was broken.
 *
 * @typedef {{ readonly kind: 'case', readonly name: string, readonly schedules: number, readonly cut: number, readonly states: number, readonly isExhausted: boolean }
 *   | { readonly kind: 'random', readonly from: number, readonly schedules: number, readonly busyMs: number, readonly reached: Readonly<Record<string, number>> }
 *   | { readonly kind: 'seed', readonly seed: number, readonly setting: readonly string[], readonly trace: readonly string[] }
 *   | { readonly kind: 'passed' }
 *   | { readonly kind: 'failed', readonly error: string, readonly how: 'violation' | 'thrown', readonly setting: readonly string[], readonly trace: readonly string[], readonly seed?: number, readonly name?: string }} Line
 */

/**
 * Every core simulates, so nobody else has one to compile or collect garbage on; and with more room it is collected less
 * often. What a schedule made is gone with it, so nothing is worth being made where only what lasts belongs, and what gets there
 * all the same is left there until there is a lot of it. And what is called at all is called thousands of times, so it is
 * compiled at once, without optimising, and interpreted never. What is optimised later is optimised in small pieces: there is so
 * much of it, each called from so many places, that larger ones take longer to make and are no quicker.
 */
const flags = [
  '--single-threaded',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--no-allocation-site-pretenuring',
  '--no-incremental-marking',
  '--initial-old-space-size=600',
  '--always-sparkplug',
  '--max-inlined-bytecode-size=250',
  '--max-inlined-bytecode-size-cumulative=500',
]

/**
 * Runs a task in a process of its own. Resolves what it said last.
 *
 * @param {string} bundle
 * @param {object} task
 * @returns {Promise<Line>}
 */
export async function simulated(bundle, task) {
  const child = simulator(bundle)
  try {
    return await child.does(task)
  } finally {
    child.end()
  }
}

/**
 * A process that does one task after another: until its code is as quick as it can be, it takes seconds.
 *
 * @param {string} bundle
 */
export function simulator(bundle) {
  const child = spawn(process.execPath, [...flags, bundle], { stdio: ['pipe', 'pipe', 'inherit'] })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  /** @type {Promise<never>} */
  const ended = new Promise((_, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      process.off('exit', kill)
      reject(new Error(`The simulation ended with ${code}, and did not say what it found.`))
    })
  })
  ended.catch(() => undefined)
  const lines = createInterface({ input: child.stdout })
  return {
    /**
     * @param {object} task
     * @returns {Promise<Line>}
     */
    does(task) {
      child.stdin.write(`${JSON.stringify(task)}\n`)
      const said = new Promise((resolve) => {
        lines.once('line', (text) => resolve(JSON.parse(text)))
      })
      return Promise.race([said, ended])
    },
    end: () => void child.stdin.end(),
  }
}
