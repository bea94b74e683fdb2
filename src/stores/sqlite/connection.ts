import { accessSync, constants, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { HapaxError, isHapaxError } from '../../kernel/errors.js'
import type { Driver, OpenDriver } from './driver.js'

/** One connection to one file, which knows whether the file is still there. */
export interface Connection extends Driver {
  /** Throws once the path leads to another file, or to none: what is written to a deleted file is lost. */
  ensurePresent(): void
}

export interface ConnectionSettings {
  readonly path: string
  readonly busyTimeoutMs: number
  /** What becomes of a file that does not exist. */
  readonly missing: 'create' | 'refuse'
}

export function connect(openDriver: OpenDriver, { path, busyTimeoutMs, missing }: ConnectionSettings): Connection {
  if (missing === 'refuse' && fileAt(path) === undefined) {
    throw new HapaxError(
      'store_unreachable',
      `${path} does not exist. Restore it, give another path, or run: npx hapax migrate ${path}`,
    )
  }
  const driver = opened(openDriver, path)
  const file = fileAt(path)
  driver.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  const ensurePresent = () => {
    if (fileAt(path) === file) return
    throw new HapaxError(
      'store_unreachable',
      `${path} was removed or replaced while in use. Restore it; the next operation opens it anew.`,
    )
  }
  return Object.assign(driver, { ensurePresent })
}

/**
 * Write-ahead logging, and an fsync in every commit: what was acknowledged survives a power cut. `fullfsync` makes
 * this true on macOS as well; elsewhere it means nothing.
 */
export function makeDurable(connection: Connection): void {
  const mode = connection.prepare<{ journal_mode: string }>('PRAGMA journal_mode = WAL').get([])?.journal_mode
  if (mode !== 'wal') {
    throw new HapaxError(
      'store_unreachable',
      `The database cannot write ahead (its journal stays "${mode}"). Put it on a local disk.`,
    )
  }
  connection.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON')
}

function opened(openDriver: OpenDriver, path: string): Driver {
  try {
    return openDriver(path)
  } catch (error) {
    throw isHapaxError(error) ? error : new HapaxError('store_unreachable', whyClosed(path), { cause: error })
  }
}

/** Looks without opening: to close a second handle of the file would drop the locks that SQLite holds on it. */
function whyClosed(path: string): string {
  const directory = dirname(path)
  if (fileAt(directory) === undefined)
    return `The directory ${directory} does not exist. Create it, or give another path.`
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return `${path} is a directory. Give the path of a file in it.`
  try {
    accessSync(fileAt(path) === undefined ? directory : path, constants.R_OK | constants.W_OK)
    return `${path} cannot be opened as a SQLite database.`
  } catch {
    return `This user may not read and write ${path}. Change its permissions, or give another path.`
  }
}

/** Which file a path leads to, or `undefined` when it leads to none that this user can see. */
function fileAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path)
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
