/**
 * Installs what is missing, and asks no network when nothing is. Runs before any dependency exists, so it uses
 * nothing but Node.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { root } from './root.mjs'

/** @typedef {import('./complete-lockfile.mjs').LockedPackages} LockedPackages */

/** The oldest Node that every dependency runs on. */
const oldestNode = '20.19.0'

/** Ends the process with one sentence when Node is too old to run anything else here. */
export function requireNode() {
  if (process.versions.node.localeCompare(oldestNode, 'en', { numeric: true }) >= 0) return
  console.error(`Hapax needs Node ${oldestNode} or later, this is ${process.versions.node}: install a newer Node.`)
  process.exit(1)
}

/** @param {(line: string) => void} say */
export function install(say) {
  if (isInstalled(readPackages('package-lock.json'), readPackages('node_modules/.package-lock.json'))) return
  say('installing dependencies')
  if (!npm(['ci'], root)) throw new Error('npm ci failed: see above, and check that the npm registry can be reached.')
}

/**
 * npm writes what it installed next to it, so comparing the two says what is missing, whoever installed it.
 * Packages for other platforms may be absent.
 *
 * @param {LockedPackages} wanted
 * @param {LockedPackages} installed
 */
export function isInstalled(wanted, installed) {
  return Object.entries(wanted).every(([path, { version, integrity, link, optional }]) => {
    if (!path.startsWith('node_modules/')) return true
    const found = installed[path]
    if (found === undefined) return optional === true
    return found.version === version && found.link === link && found.integrity === integrity
  })
}

/**
 * Runs the npm that runs us, or else the first one on the path. Its output goes to stderr.
 *
 * @param {readonly string[]} args
 * @param {string} cwd
 */
export function npm(args, cwd) {
  const own = process.env.npm_execpath
  const [command, ...first] = own?.endsWith('.js') ? [process.execPath, own] : ['npm']
  const { status } = spawnSync(command, [...first, ...args], {
    cwd,
    stdio: ['ignore', 2, 2],
    shell: first.length === 0 && process.platform === 'win32',
  })
  return status === 0
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
