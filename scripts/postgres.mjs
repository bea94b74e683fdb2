/**
 * A real PostgreSQL for the tests: the one that `HAPAX_TEST_POSTGRES_URL` names, or one of our own from the first
 * source that gives a server which starts.
 */
import process from 'node:process'
import { debianBinaries } from './postgres/debian-binaries.mjs'
import { installedBinaries } from './postgres/installed-binaries.mjs'
import { packagedBinaries } from './postgres/packaged-binaries.mjs'
import { startServer } from './postgres/server.mjs'

/**
 * @typedef {object} Running
 * @property {'running'} kind
 * @property {string} url
 * @property {string} source where the server comes from, for people
 * @property {() => Promise<void>} stop
 *
 * @typedef {object} Missing
 * @property {'missing'} kind
 * @property {string} reason
 *
 * @typedef {Running | Missing} Postgres
 *
 * @typedef {object} Binaries
 * @property {string} folder holds `postgres` and `initdb`
 * @property {string} source
 * @property {'shared' | 'private'} reach a private folder may be closed to other users, so it is copied before use
 *
 * @typedef {(say: (line: string) => void) => Promise<Binaries>} BinarySource throws with the reason when it has none
 */

/**
 * @param {(line: string) => void} say
 * @returns {Promise<Postgres>}
 */
export async function startPostgres(say) {
  const url = process.env.HAPAX_TEST_POSTGRES_URL
  if (url) return { kind: 'running', url, source: 'HAPAX_TEST_POSTGRES_URL', stop: async () => {} }

  const reasons = []
  for (const source of sources()) {
    try {
      return await startServer(await source(say))
    } catch (error) {
      reasons.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { kind: 'missing', reason: reasons.join('; ') }
}

/** @returns {readonly BinarySource[]} */
function sources() {
  const forced = process.env.HAPAX_TEST_POSTGRES
  if (forced === 'package') return [packagedBinaries]
  if (forced) throw new Error(`HAPAX_TEST_POSTGRES is ${JSON.stringify(forced)}; only 'package' is known.`)
  return [installedBinaries, packagedBinaries, debianBinaries]
}
