import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'

/** Where packages for Debian, Red Hat, Homebrew and Postgres.app put a server, one folder per version. */
const versioned = [
  { parent: '/usr/lib/postgresql', name: /^\d+$/ },
  { parent: '/usr', name: /^pgsql-\d+$/ },
  { parent: '/opt/homebrew/opt', name: /^postgresql(@\d+)?$/ },
  { parent: '/usr/local/opt', name: /^postgresql(@\d+)?$/ },
  { parent: '/Applications/Postgres.app/Contents/Versions', name: /^\d+$/ },
]

/**
 * The server that this machine has: on the path, or else the newest in one of the usual places.
 *
 * @type {import('../postgres.mjs').BinarySource}
 */
export async function installedBinaries() {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const folder = [...onPath, ...versioned.flatMap(versionsIn)].find(holdsServer)
  if (folder === undefined) throw new Error('no PostgreSQL is installed')
  return { folder, source: folder, reach: 'shared' }
}

/** @param {typeof versioned[number]} place */
function versionsIn({ parent, name }) {
  return list(parent)
    .filter((entry) => name.test(entry))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((entry) => join(parent, entry, 'bin'))
}

/** @param {string} folder */
function list(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/** @param {string} folder */
function holdsServer(folder) {
  try {
    for (const name of ['postgres', 'initdb']) accessSync(join(folder, name), constants.X_OK)
    return true
  } catch {
    return false
  }
}
