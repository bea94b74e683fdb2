/** A process that simulates, and what it says. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'

/**
 * What it says: how far it is, what it has done, or how a promise was broken.
 *
 * @typedef {{ readonly kind: 'progress', readonly schedules: number }
 *   | { readonly kind: 'case', readonly name: string, readonly schedules: number, readonly cut: number, readonly states: number, readonly isExhausted: boolean }
 *   | { readonly kind: 'random', readonly from: number, readonly step: number, readonly schedules: number, readonly busyMs: number, readonly reached: Readonly<Record<string, number>> }
 *   | { readonly kind: 'seed', readonly seed: number, readonly schedules: number }
 *   | { readonly kind: 'failed', readonly error: string, readonly how: 'violation' | 'thrown', readonly trace: readonly string[], readonly seed?: number, readonly name?: string }} Line
 */

/**
 * Every core simulates, so nobody else has one to compile or collect garbage on; and with more room it is collected less
 * often. What a schedule made is gone with it, so nothing is worth being made where only what lasts belongs.
 */
const flags = [
  '--single-threaded',
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--no-allocation-site-pretenuring',
]

/**
 * Runs a task in a process of its own. Resolves what it said last.
 *
 * @param {string} bundle
 * @param {object} task
 * @param {(line: Line) => void} [heard]
 * @returns {Promise<Line>}
 */
export function simulated(bundle, task, heard = () => {}) {
  const child = spawn(process.execPath, [...flags, bundle, JSON.stringify(task)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const end = () => void child.kill('SIGKILL')
  process.once('exit', end)
  /** @type {Line | undefined} */
  let last
  createInterface({ input: child.stdout }).on('line', (text) => {
    last = JSON.parse(text)
    if (last !== undefined) heard(last)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      process.off('exit', end)
      if (last === undefined || last.kind === 'progress')
        reject(new Error(`The simulation ended with ${code}, and said nothing.`))
      else resolve(last)
    })
  })
}
