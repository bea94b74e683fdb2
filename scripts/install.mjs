/**
 * Installs what is missing, and asks no network when nothing is. Runs before any dependency exists, so it uses
 * nothing but Node.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { run } from './processes.mjs'
import { root } from './root.mjs'

/** @typedef {import('./complete-lockfile.mjs').LockedPackages} LockedPackages */

/** The oldest Node that every dependency runs on. */
const oldestNode = '20.19.0'

/** Ends the process with one sentence when Node is too old to run anything else here. */
export function requireNode() {
  if (process.versions.node.localeCompare(oldestNode, 'en', { numeric: true }) >= 0) return
  console.error(`Hapax needs Node ${oldestNode} or later and this is ${process.versions.node}: install a newer one.`)
  process.exit(1)
}

/** @param {(line: string) => void} say */
export async function install(say) {
  if (isInstalled(readPackages('package-lock.json'), readPackages('node_modules/.package-lock.json'))) return
  say('installing dependencies')
  await installLocked(root)
}

/**
 * npm writes down what it installed, so comparing says what is missing, whoever installed it. Packages for other
 * platforms may be absent.
 *
 * @param {LockedPackages} wanted
 * @param {LockedPackages} installed
 */
export function isInstalled(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, link, optional }]) => {
    if (!path.startsWith('node_modules/')) return true
    const found = installed[path]
    return found === undefined ? optional === true : found.version === version && found.link === link
  })
}

/** @param {string} folder */
export async function installLocked(folder) {
  if (await run('npm ci', { cwd: folder, stdout: process.stderr })) return
  throw new Error('npm ci failed: see above, and check that the npm registry can be reached.')
}

/**
 * @param {string} path
 * @returns {LockedPackages}
 */
function readPackages(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8')).packages
  } catch {
    return {}
  }
}
