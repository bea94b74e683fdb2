import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { folderWith } from '../executables.mjs'

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
  const folder = folderWith(['postgres', 'initdb'], versioned.flatMap(versionsIn))
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
