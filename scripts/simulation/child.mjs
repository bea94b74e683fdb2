/** A process that simulates, and what it says. */
import { spawn } from 'node:child_process'
import process from 'node:process'
import { createInterface } from 'node:readline'

/**
 * What it says of a task: what it has done, or how a promise was broken. A seed that fails only behind others says `from` which on.
 *
 * @typedef {{ readonly kind: 'case', readonly name: string, readonly schedules: number, readonly cut: number, readonly states: number, readonly isExhausted: boolean }
 *   | { readonly kind: 'random', readonly from: number, readonly schedules: number, readonly busyMs: number, readonly reached: Readonly<Record<string, number>> }
 *   | { readonly kind: 'seed', readonly seed: number, readonly setting: readonly string[], readonly trace: readonly string[] }
 *   | { readonly kind: 'passed' }
 *   | { readonly kind: 'failed', readonly error: string, readonly how: 'violation' | 'thrown', readonly setting: readonly string[], readonly trace: readonly string[], readonly seed?: number, readonly from?: number, readonly name?: string }} Line
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
 * Whoever works says so every second. One that has been silent for so long is in a loop without an end, in which nobody hears
 * anything, and is ended.
 */
const silentSeconds = 60

/** A process that has not said what it found: it has ended, or did not come to an end. */
export class EndedEarly extends Error {}

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set()

process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/**
 * Runs a task in a process of its own. Resolves what it said last.
 *
 * @param {string} bundle
 * @param {object} task
 * @param {Patience} [patience]
 * @returns {Promise<Line>}
 */
export async function simulated(bundle, task, patience) {
  const child = simulator(bundle, patience)
  try {
    return await child.does(task)
  } finally {
    child.end()
  }
}

/**
 * A process that does one task after another: until its code is as quick as it can be, it takes seconds.
 *
 * @typedef {{ readonly seconds?: number }} Patience for how long it may be silent
 *
 * @param {string} bundle
 * @param {Patience} [patience]
 */
export function simulator(bundle, { seconds = silentSeconds } = {}) {
  const child = spawn(process.execPath, [...flags, bundle], { stdio: ['pipe', 'pipe', 'inherit'] })
  running.add(child)
  let isSilent = false
  /** @type {Promise<never>} */
  const ended = new Promise((_, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      running.delete(child)
      const how = isSilent ? `was silent for ${seconds} s, and was ended` : `ended with ${signal ?? code}`
      reject(new EndedEarly(`The process ${how}, and did not say what it found.`))
    })
  })
  ended.catch(() => undefined)
  // One that has ended hears nothing: that it has is told by its end.
  child.stdin.on('error', () => undefined)
  /** @type {(line: Line) => void} */
  let told = () => undefined
  let silentFor = 0
  createInterface({ input: child.stdout }).on('line', (text) => {
    silentFor = 0
    const line = JSON.parse(text)
    if (line.kind !== 'working') told(line)
  })
  return {
    /**
     * @param {object} task
     * @returns {Promise<Line>}
     */
    async does(task) {
      silentFor = 0
      /** @type {Promise<Line>} */
      const said = new Promise((resolve) => {
        told = resolve
      })
      child.stdin.write(`${JSON.stringify(task)}\n`)
      // Seconds in which we were there: while the machine is suspended nobody is silent.
      const watch = setInterval(() => {
        if (++silentFor < seconds) return
        isSilent = true
        child.kill('SIGKILL')
      }, 1_000)
      try {
        return await Promise.race([said, ended])
      } finally {
        clearInterval(watch)
      }
    },
    end: () => void child.stdin.end(),
  }
}
