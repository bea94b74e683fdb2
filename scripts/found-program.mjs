/** Programs that tests start themselves: the one that the environment names, an installed one, or Debian's. */
import { join } from 'node:path'
import process from 'node:process'
import { installDebianPackage } from './debian-package.mjs'
import { folderWith } from './executables.mjs'

/**
 * @typedef {object} Program
 * @property {string} title what people call it
 * @property {string} variable of the environment: names the one to use, and tells the tests which was found
 * @property {'chromium' | 'redis-server' | 'prometheus'} debian the package that has it
 * @property {readonly string[]} names what it may be called
 */

/** @type {Program} The browser of the client's tests. */
export const chromium = {
  title: 'Chromium',
  variable: 'HAPAX_TEST_CHROMIUM',
  debian: 'chromium',
  names: ['chromium', 'chromium-browser', 'google-chrome'],
}

/** @type {Program} What a store keeps its records in, and BullMQ its jobs. */
export const redis = {
  title: 'Redis',
  variable: 'HAPAX_TEST_REDIS',
  debian: 'redis-server',
  names: ['redis-server'],
}

/** @type {Program} What scrapes, and has promtool beside it. */
export const prometheus = {
  title: 'Prometheus',
  variable: 'HAPAX_TEST_PROMETHEUS',
  debian: 'prometheus',
  names: ['prometheus'],
}

const usual = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/**
 * Throws with the reason when there is none.
 *
 * @param {Program} program
 * @param {(line: string) => void} say
 * @returns {Promise<string>} its path
 */
export async function foundProgram({ title, variable, debian, names }, say) {
  const found = process.env[variable] ?? installed(names)
  if (found) return found
  await installDebianPackage(debian, say)
  const path = installed(names)
  if (path === undefined) throw new Error(`Debian's ${title} is not where it should be`)
  return path
}

/**
 * @param {readonly string[]} names
 * @returns {string | undefined}
 */
function installed(names) {
  return names.flatMap((name) => {
    const folder = folderWith([name], usual)
    return folder === undefined ? [] : [join(folder, name)]
  })[0]
}
