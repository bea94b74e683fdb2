/** Who puts something on record: one process at a time. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { root } from '../root.mjs'

const usual = join(root, '.cache', 'simulation', 'on-record')

/**
 * Holds it until this process ends. Why it cannot; `undefined` when it does.
 *
 * @param {string} [file]
 * @returns {string | undefined}
 */
export function holdRecord(file = usual) {
  mkdirSync(dirname(file), { recursive: true })
  if (!take(file)) {
    const holder = Number(readFileSync(file, 'utf8'))
    if (lives(holder))
      return `Process ${holder} is putting a run on record already: wait for its end, or leave out --record.`
    // Whoever was killed could not give it back.
    rmSync(file, { force: true })
    if (!take(file))
      return 'Somebody else has just begun to put a run on record: wait for its end, or leave out --record.'
  }
  process.once('exit', () => rmSync(file, { force: true }))
  return undefined
}

/** @param {string} file */
function take(file) {
  try {
    writeFileSync(file, `${process.pid}`, { flag: 'wx' })
    return true
  } catch {
    return false
  }
}

/** @param {number} pid */
function lives(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
