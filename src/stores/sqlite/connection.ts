import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../../kernel/clock.js'
import { HapaxError, isHapaxError } from '../../kernel/errors.js'
import { sqliteBounds } from '../../kernel/limits.js'
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
  readonly missing: 'create' | 'refuse' | 'lost'
}

const advice = {
  refuse: (path: string) => `${path} does not exist. Give another path, or create it: npx hapax migrate ${path}`,
  lost: (path: string) =>
    `${path} was there and is gone. Restore it: with an empty one in its place, every old key would be new.`,
} as const

export function connect(openDriver: OpenDriver, { path, busyTimeoutMs, missing }: ConnectionSettings): Connection {
  if (missing !== 'create' && fileAt(path) === undefined) throw unreachable(advice[missing](path))
  ensureUsable(path)
  const driver = opened(openDriver, path)
  const file = fileAt(path)
  driver.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
  const ensurePresent = () => {
    const found = fileAt(path)
    if (found !== undefined && found.ino === file?.ino && found.dev === file.dev) return
    throw unreachable(`${path} was removed or replaced while in use. Put it back; the next operation opens it anew.`)
  }
  return Object.assign(driver, { ensurePresent })
}

/**
 * Write-ahead logging, and an fsync in every commit: what was acknowledged survives a power cut. `fullfsync` makes
 * this true on macOS as well; elsewhere it means nothing.
 */
export function makeDurable(connection: Connection, busyTimeoutMs: number): void {
  const pragma = connection.prepare<{ journal_mode: string }>('PRAGMA journal_mode = WAL')
  const journal = insisting(busyTimeoutMs, () => pragma.get([])?.journal_mode)
  if (journal !== 'wal') {
    throw unreachable(`The database cannot write ahead (its journal stays "${journal}"). Put it on a local disk.`)
  }
  connection.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON')
}

/** SQLite does not wait for a lock when it changes the journal, as it does elsewhere: so it is asked again. */
function insisting<T>(busyTimeoutMs: number, ask: () => T): T {
  const giveUpAt = systemClock.elapsed() + busyTimeoutMs
  const nobodyWakes = new Int32Array(new SharedArrayBuffer(4))
  for (;;) {
    try {
      return ask()
    } catch (error) {
      if (!isHapaxError(error, 'store_busy') || systemClock.elapsed() > giveUpAt) throw error
      Atomics.wait(nobodyWakes, 0, 0, sqliteBounds.insistMs)
    }
  }
}

/**
 * SQLite would open a file that it may not write, and fail later. This looks without opening: to close a second
 * handle of the file would drop the locks that SQLite holds on it.
 */
function ensureUsable(path: string): void {
  const directory = dirname(path)
  if (!fileAt(directory)?.isDirectory()) {
    throw unreachable(`The directory ${directory} does not exist. Create it, or give another path.`)
  }
  const file = fileAt(path)
  if (file?.isDirectory()) throw unreachable(`${path} is a directory. Give the path of a file in it.`)
  for (const place of file === undefined ? [directory] : [directory, path]) {
    if (!mayWrite(place)) throw unreachable(`This user may not read and write ${place}. Change its permissions.`)
  }
}

function fileAt(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function opened(openDriver: OpenDriver, path: string): Driver {
  try {
    return openDriver(path)
  } catch (error) {
    throw isHapaxError(error) ? error : unreachable(`${path} cannot be opened as a SQLite database.`, error)
  }
}

function unreachable(message: string, cause?: unknown): HapaxError {
  return new HapaxError('store_unreachable', message, { cause })
}
