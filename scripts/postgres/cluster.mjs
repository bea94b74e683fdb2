/** A fresh database in a temporary folder of its own, with binaries that its user can run. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { giveTo, reachableTemporaryFolder, serverUser } from './server-user.mjs'

/**
 * @typedef {object} Cluster
 * @property {string} home holds data, socket and log
 * @property {string} data
 * @property {string} bin
 * @property {{ cwd: string, env: NodeJS.ProcessEnv, uid?: number, gid?: number }} options of all its processes
 */

/**
 * @param {import('../postgres.mjs').Binaries} binaries
 * @returns {Promise<Cluster>}
 */
export async function createCluster(binaries) {
  const home = mkdtempSync(join(reachableTemporaryFolder(), 'hapax-postgres-'))
  process.once('exit', () => removeCluster(home))
  const user = serverUser()
  const cluster = {
    home,
    data: join(home, 'data'),
    bin: user === undefined ? binaries.folder : reachableBinaries(binaries, home),
    options: { cwd: home, env: { PATH: process.env.PATH, HOME: home, LC_ALL: 'C' }, ...user },
  }
  if (user !== undefined) giveTo(user, home)
  await initialise(cluster)
  return cluster
}

/** @param {string} home */
export function removeCluster(home) {
  rmSync(home, { recursive: true, force: true, maxRetries: 10 })
}

/**
 * The folder that a package was fetched into may be closed to the user that runs the server.
 *
 * @param {import('../postgres.mjs').Binaries} binaries
 * @param {string} home
 */
function reachableBinaries({ folder, reach }, home) {
  if (reach === 'shared') return folder
  const copy = join(home, 'native')
  cpSync(dirname(folder), copy, { recursive: true, verbatimSymlinks: true })
  return join(copy, 'bin')
}

/** Whoever reaches the server is trusted: it listens on the loopback only, for as long as the tests run. @param {Cluster} cluster */
async function initialise({ bin, data, options }) {
  const args = ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await promisify(execFile)(join(bin, 'initdb'), args, options)
}
