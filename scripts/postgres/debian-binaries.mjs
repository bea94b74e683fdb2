import { existsSync } from 'node:fs'
import process from 'node:process'
import { run } from '../processes.mjs'
import { installedBinaries } from './installed-binaries.mjs'

const command = 'apt-get install -y --no-install-recommends postgresql'

/**
 * Debian's own packages, where we may install them. The last resort, since it changes the machine.
 *
 * @type {import('../postgres.mjs').BinarySource}
 */
export async function debianBinaries(say) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error("Debian's packages need root and apt-get")
  }
  say(`running ${command}`)
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, stdout: process.stderr }
  const isDone = (await run(command, options)) || (await run(`apt-get update && ${command}`, options))
  if (!isDone) throw new Error(`${command} failed`)
  return installedBinaries(say)
}
