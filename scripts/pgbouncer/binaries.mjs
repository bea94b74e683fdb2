/** Where a pgbouncer comes from. Each source gives its path, or throws with the reason when it has none. */
import { join } from 'node:path'
import { installDebianPackage } from '../debian-package.mjs'
import { folderWith } from '../executables.mjs'

/** Where packages for Debian, Red Hat and Homebrew put it; not all of them are on everybody's path. */
const usual = ['/usr/sbin', '/usr/bin', '/usr/local/sbin', '/usr/local/bin', '/opt/homebrew/bin']

/** @returns {Promise<string>} */
export async function installedBinary() {
  const folder = folderWith(['pgbouncer'], usual)
  if (folder === undefined) throw new Error('no pgbouncer is installed')
  return join(folder, 'pgbouncer')
}

/**
 * @param {(line: string) => void} say
 * @returns {Promise<string>}
 */
export async function debianBinary(say) {
  await installDebianPackage('pgbouncer', say)
  return installedBinary()
}
