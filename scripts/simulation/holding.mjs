/** Who puts something on record: one process at a time. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
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
    const holder = holderOf(file)
    if (holder !== undefined && lives(holder))
      return `Process ${holder} is putting a run on record already: wait for its end, or leave out --record.`
    if (holder !== undefined) clear(file, holder)
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

/**
 * `undefined` where it was given back meanwhile.
 *
 * @param {string} file
 */
function holderOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/**
 * Whoever was killed could not give it back. Only what he has left is taken away: another may have done so, and hold it by now.
 *
 * @param {string} file
 * @param {number} dead
 */
function clear(file, dead) {
  const taken = `${file}.${process.pid}`
  try {
    renameSync(file, taken)
  } catch {
    return
  }
  if (holderOf(taken) === dead) rmSync(taken)
  else renameSync(taken, file)
}

/** @param {number} pid */
function lives(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Somebody else's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
