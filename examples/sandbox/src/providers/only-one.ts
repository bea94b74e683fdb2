import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'

/** Who serves a directory. */
export interface Serving {
  readonly url: string
  readonly pid: number
}

export type Taken =
  | { readonly kind: 'ours'; announce(url: string): void }
  /** `by` is absent while that one has not begun to serve. */
  | { readonly kind: 'taken'; readonly by?: Serving }

/** One that is just ending is waited for. */
const waitMs = 1_000

/**
 * Two processes on one ledger would each know half of it. The lock is one of the operating system, held by SQLite as long
 * as the process lives, so that none is left behind by one that was killed.
 */
export function takeDirectory(directory: string): Taken {
  const notice = join(directory, 'serving.json')
  const lock = new Database(join(directory, 'lock.db'), { timeout: waitMs })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    if (!/locked|busy/i.test(String(error))) throw error
    return { kind: 'taken', ...noticed(notice) }
  }
  // Of one that is gone.
  rmSync(notice, { force: true })
  // Never ends: referred to from here on, it is not collected either.
  held.push(lock)
  return { kind: 'ours', announce: (url) => writeFileSync(notice, JSON.stringify({ url, pid: process.pid })) }
}

const held: Database.Database[] = []

function noticed(path: string): { by?: Serving } {
  try {
    return { by: JSON.parse(readFileSync(path, 'utf8')) }
  } catch {
    return {}
  }
}
