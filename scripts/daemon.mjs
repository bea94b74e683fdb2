/** A server of the tests: a process of its own on the loopback, that ends with us. */
import { spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { kill } from './processes.mjs'

const readyWithinMs = 30_000
const stopsWithinMs = 10_000
const pollMs = 20

/**
 * @typedef {object} Daemon
 * @property {string} command
 * @property {readonly string[]} args
 * @property {{ cwd: string, env: NodeJS.ProcessEnv, uid?: number, gid?: number }} options
 * @property {string} log where it writes to
 * @property {readonly NodeJS.Signals[]} stopSignals from the gentlest on
 * @property {NodeJS.Signals} abandonSignal when nobody can wait for it
 */

/**
 * In a process group of its own: a Ctrl-C is for the tests, and the server stops when they have ended.
 *
 * @param {Daemon} daemon
 */
export function startDaemon({ command, args, options, log, stopSignals, abandonSignal }) {
  const output = openSync(log, 'a')
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', output, output] })
  const ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve))
  const hasEnded = () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null
  /** @param {NodeJS.Signals} signal */
  const send = (signal) => child.pid !== undefined && kill(child.pid, signal)

  const abandon = () => send(abandonSignal)
  process.prependOnceListener('exit', abandon)
  return {
    /** @param {() => Promise<boolean>} isReady */
    async untilReady(isReady) {
      const deadline = performance.now() + readyWithinMs
      while (hasEnded() || !(await isReady())) {
        const isLate = performance.now() > deadline
        if (hasEnded() || isLate) {
          const lastLines = readLines(log).slice(-4).join(' ').trim()
          throw new Error(`the server ${isLate ? 'is not ready in time' : 'did not start'}: ${lastLines}`)
        }
        await sleep(pollMs)
      }
    },
    async stop() {
      for (const signal of stopSignals) {
        if (hasEnded()) break
        send(signal)
        await Promise.race([ended, sleep(stopsWithinMs, undefined, { ref: false })])
      }
      process.off('exit', abandon)
    },
  }
}

/** @returns {Promise<number>} */
export function freePort() {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}

/** @param {string} path */
export function readLines(path) {
  try {
    return readFileSync(path, 'utf8').split('\n')
  } catch {
    return []
  }
}
