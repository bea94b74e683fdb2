/**
 * Completes package-lock.json after `npm install`. npm leaves out optional packages for other platforms when the
 * registry it asked does not have them, and `npm ci` then refuses the whole lockfile. Their names say where they
 * run and their parents say which version, which is all that `npm ci` needs.
 *
 * Usage: node scripts/complete-lockfile.mjs [folder]
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'

/**
 * @typedef {object} LockedPackage
 * @property {string} [version]
 * @property {string} [resolved]
 * @property {string} [integrity]
 * @property {boolean} [link]
 * @property {boolean} [dev]
 * @property {boolean} [optional]
 * @property {boolean} [hasInstallScript]
 * @property {string[]} [os]
 * @property {string[]} [cpu]
 * @property {string[]} [libc]
 * @property {Record<string, string>} [optionalDependencies]
 *
 * @typedef {Record<string, LockedPackage>} LockedPackages by the path they are installed at
 */

const systems = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

/**
 * The packages that are wanted by a locked package and are not locked themselves.
 *
 * @param {LockedPackages} packages
 * @returns {LockedPackages}
 */
export function missingPackages(packages) {
  /** @type {LockedPackages} */
  const missing = {}
  for (const [path, { dev, optionalDependencies = {} }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const isLocked = `node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages
      if (isLocked) continue
      missing[`node_modules/${name}`] = {
        version: version.replace(/^[\^~]/, ''),
        ...(dev && { dev }),
        optional: true,
        ...platform(name),
      }
    }
  }
  return missing
}

/** @param {string} name */
function platform(name) {
  const words = name.replace('windows', 'win32').split(/[-_/]/)
  const os = systems.filter((system) => words.includes(system))
  const cpu = processors.filter((processor) => words.includes(processor))
  const libc = words.some((word) => word.startsWith('musl')) ? ['musl'] : []
  return Object.fromEntries(Object.entries({ os, cpu, libc }).filter(([, values]) => values.length > 0))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const path = join(process.argv[2] ?? '.', 'package-lock.json')
  const lock = JSON.parse(readFileSync(path, 'utf8'))
  const missing = missingPackages(lock.packages)
  const entries = Object.entries({ ...lock.packages, ...missing }).sort(([a], [b]) => a.localeCompare(b, 'en'))
  writeFileSync(path, `${JSON.stringify({ ...lock, packages: Object.fromEntries(entries) }, undefined, 2)}\n`)
  console.error(`${path}: ${Object.keys(missing).length} packages added`)
}
