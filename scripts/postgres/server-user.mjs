/** PostgreSQL and pgbouncer refuse to run as root, so root runs them as somebody else. */
import { lchownSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'

/**
 * @typedef {object} User
 * @property {number} uid
 * @property {number} gid
 */

/** @returns {User | undefined} `undefined` when the server may run as we do */
export function serverUser() {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const account = ['postgres', 'nobody'].map((name) => accounts.find(([first]) => first === name)).find(Boolean)
  if (account === undefined) throw new Error('root cannot run it, and there is no user postgres or nobody')
  return { uid: Number(account[2]), gid: Number(account[3]) }
}

/** A temporary folder that every user can reach: `TMPDIR` may lie under one that only its owner can enter. */
export function reachableTemporaryFolder() {
  const folder = [tmpdir(), '/tmp', '/var/tmp'].find(isReachable)
  if (folder === undefined) throw new Error('no temporary folder is open to other users')
  return folder
}

/**
 * @param {string} folder
 * @returns {boolean}
 */
function isReachable(folder) {
  const canEnter = (statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o001
  const parent = dirname(resolve(folder))
  return canEnter !== 0 && (parent === folder || isReachable(parent))
}

/**
 * @param {User} user
 * @param {string} path a file, or a folder with all that is in it
 */
export function giveTo(user, path) {
  lchownSync(path, user.uid, user.gid)
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) giveTo(user, child)
    else lchownSync(child, user.uid, user.gid)
  }
}
