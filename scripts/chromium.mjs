/** A real browser for the tests of the client: the one that `HAPAX_TEST_CHROMIUM` names, an installed one, or Debian's. */
import { join } from 'node:path'
import process from 'node:process'
import { installDebianPackage } from './debian-package.mjs'
import { folderWith } from './executables.mjs'

const names = ['chromium', 'chromium-browser', 'google-chrome']
const usual = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin']

/**
 * Throws with the reason when there is none.
 *
 * @param {(line: string) => void} say
 * @returns {Promise<string>} its path
 */
export async function findChromium(say) {
  const found = process.env.HAPAX_TEST_CHROMIUM ?? installed()
  if (found) return found
  await installDebianPackage('chromium', say)
  const path = installed()
  if (path === undefined) throw new Error("Debian's chromium is not where it should be")
  return path
}

/** @returns {string | undefined} */
function installed() {
  return names.flatMap((name) => {
    const folder = folderWith([name], usual)
    return folder === undefined ? [] : [join(folder, name)]
  })[0]
}
