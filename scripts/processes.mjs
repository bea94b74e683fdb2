/** Commands that end with us: whatever ends this process also ends what it started. */
import { spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { root } from './root.mjs'

/** @type {Set<number>} */
const running = new Set()

process.on('exit', () => {
  for (const pid of running) kill(-pid, 'SIGTERM')
})

/**
 * Runs a command line of our own and says whether it ended with 0. It leads a process group, so that its children
 * can be ended with it; and it finds the tools of this repository. What has not ended in time is ended.
 *
 * @param {string} commandLine
 * @param {{ cwd?: string, env?: Record<string, string>, stdout?: NodeJS.WriteStream | 'ignore', withinMs?: number }} [options]
 * @returns {Promise<boolean>}
 */
export function run(commandLine, { cwd = root, env = {}, stdout = process.stdout, withinMs } = {}) {
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`
  const child = spawn(commandLine, {
    cwd,
    shell: true,
    detached: true,
    stdio: ['ignore', stdout, 'inherit'],
    env: { ...process.env, PATH: path, ...env },
  })
  const { pid } = child
  if (pid !== undefined) running.add(pid)
  const late = withinMs === undefined ? undefined : setTimeout(end, withinMs).unref()
  function end() {
    console.error(`✗ ${commandLine} has not ended within ${withinMs} ms`)
    if (pid !== undefined) kill(-pid, 'SIGKILL')
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      clearTimeout(late)
      if (pid !== undefined) running.delete(pid)
      resolve(code === 0)
    })
  })
}

/**
 * Lets SIGINT and SIGTERM end this process as an exit, so that what must be cleaned up is.
 *
 * @returns {() => void} gives the signals back
 */
export function exitOnSignals() {
  const onInterrupt = () => process.exit(130)
  const onTerminate = () => process.exit(143)
  process.on('SIGINT', onInterrupt)
  process.on('SIGTERM', onTerminate)
  return () => {
    process.off('SIGINT', onInterrupt)
    process.off('SIGTERM', onTerminate)
  }
}

/**
 * A process that is gone already has ended as we wanted.
 *
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
export function kill(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {}
}
