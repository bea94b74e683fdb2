import { installDebianPackage } from '../debian-package.mjs'
import { installedBinaries } from './installed-binaries.mjs'

/** @type {import('../postgres.mjs').BinarySource} */
export async function debianBinaries(say) {
  await installDebianPackage('postgresql', say)
  return installedBinaries(say)
}
