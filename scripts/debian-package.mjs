import { existsSync } from 'node:fs'
import process from 'node:process'
import { run } from './processes.mjs'

/**
 * Debian's own packages, where we may install them. The last resort, since it changes the machine.
 *
 * @param {'postgresql' | 'pgbouncer' | 'chromium' | 'redis-server' | 'prometheus'} name
 * @param {(line: string) => void} say
 */
export async function installDebianPackage(name, say) {
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error("Debian's packages need root and apt-get")
  }
  const command = `apt-get install -y --no-install-recommends ${name}`
  say(`running ${command}`)
  const options = { env: { DEBIAN_FRONTEND: 'noninteractive' }, stdout: process.stderr }
  const isDone = (await run(command, options)) || (await run(`apt-get update && ${command}`, options))
  if (!isDone) throw new Error(`${command} failed`)
}
