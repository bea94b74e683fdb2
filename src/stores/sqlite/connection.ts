import { accessSync, constants, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { HapaxError, isHapaxError } from '../../kernel/errors.js'
import { storeError } from './faults.js'
import type { SqliteValue } from './statement.js'

/**
 * One connection to one file. Everything that libsql does its own way stays in this file: parameters go in as one
 * checked array (a boolean or a lone buffer would abort the whole process), blobs come out as bytes, and each of
 * its errors becomes one of ours.
 */
export interface Connection {
  readonly inTransaction: boolean
  /** Runs a script without results. */
  exec(sql: string): void
  prepare<Row>(sql: string): Prepared<Row>
  /** Throws once the file is no longer the one that was opened: what is written to a deleted file is lost. */
  ensurePresent(): void
  close(): void
}

export interface Prepared<Row> {
  /** Whether it gives rows. */
  readonly reader: boolean
  get(parameters: readonly unknown[]): Row | undefined
  all(parameters: readonly unknown[]): Row[]
  /** The number of rows changed. */
  run(parameters: readonly unknown[]): number
}

export interface ConnectionSettings {
  readonly path: string
  readonly busyTimeoutMs: number
  /** Whether a file that does not exist is created. */
  readonly missing: 'create' | 'refuse'
}

export function connect({ path, busyTimeoutMs, missing }: ConnectionSettings): Connection {
  if (missing === 'refuse' && identity(path) === undefined) {
    throw new HapaxError('store_unreachable', `${path} does not exist. Give another path, restore it, or run: npx hapax migrate ${path}`)
  }
  const native = opened(path)
  const inode = identity(path)
  const connection: Connection = {
    get inTransaction() {
      return native.inTransaction
    },
    exec: (sql) => guarded(() => native.exec(sql)),
    prepare: <Row>(sql: string) => prepared<Row>(guarded(() => native.prepare(sql))),
    ensurePresent() {
      if (identity(path) === inode) return
      throw new HapaxError('store_unreachable', `${path} was removed or replaced while it was in use. Put it back; the next operation opens it anew.`)
    },
    close: () => guarded(() => native.close()),
  }
  try {
    connection.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * Write-ahead logging, and an fsync in every commit: what was acknowledged survives a power cut. `fullfsync` makes
 * that true on macOS as well; elsewhere it means nothing.
 */
export function makeDurable(connection: Connection): void {
  const mode = connection.prepare<{ journal_mode: string }>('PRAGMA journal_mode = WAL').get([])?.journal_mode
  if (mode !== 'wal') {
    throw new HapaxError('store_unreachable', `The database cannot use write-ahead logging (it stays at "${mode}"). Put it on a local disk.`)
  }
  connection.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON')
}

/** The part of libsql that is used here. */
interface NativeDatabase {
  readonly inTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): NativeStatement
  close(): void
}

interface NativeStatement {
  readonly reader: boolean
  safeIntegers(): NativeStatement
  get(parameters: SqliteValue[]): Record<string, unknown> | undefined
  all(parameters: SqliteValue[]): Record<string, unknown>[]
  run(parameters: SqliteValue[]): { readonly changes: number }
}

function opened(path: string): NativeDatabase {
  const Database = driver()
  try {
    return new Database(path)
  } catch (error) {
    throw new HapaxError('store_unreachable', whyNotOpened(path), { cause: error })
  }
}

function driver(): new (path: string) => NativeDatabase {
  try {
    return createRequire(import.meta.url)('libsql')
  } catch (error) {
    throw new HapaxError('store_unreachable', 'hapax/sqlite needs the package libsql, which cannot be loaded. Run: npm install libsql', { cause: error })
  }
}

/** Looks without opening: closing a second handle of the file would drop the locks that SQLite holds on it. */
function whyNotOpened(path: string): string {
  const directory = dirname(path)
  if (identity(directory) === undefined) return `The directory ${directory} does not exist. Create it, or give another path.`
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return `${path} is a directory. Give the path of a file in it.`
  try {
    accessSync(identity(path) === undefined ? directory : path, constants.R_OK | constants.W_OK)
  } catch {
    return `This user may not read and write ${path}. Change its permissions, or give another path.`
  }
  return `${path} cannot be opened as a SQLite database.`
}

function identity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

function prepared<Row>(statement: NativeStatement): Prepared<Row> {
  return {
    reader: statement.reader,
    get: (parameters) => guarded(() => statement.get(parameters.map(bindable))) as Row | undefined,
    all: (parameters) => guarded(() => statement.all(parameters.map(bindable))).map(readable) as Row[],
    run: (parameters) => guarded(() => statement.run(parameters.map(bindable)).changes),
  }
}

function bindable(value: unknown): SqliteValue {
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'number' || value instanceof Uint8Array) return value
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value
  if (typeof value === 'string' && !value.includes('\0')) return value
  throw new HapaxError('store_failed', `A ${typeof value} parameter cannot be stored: give text without NUL, a number, a 64-bit bigint, a boolean, bytes or null.`)
}

function readable(row: Record<string, unknown>): Record<string, unknown> {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value)
  }
  return row
}

function guarded<T>(use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw isHapaxError(error) ? error : storeError(error)
  }
}
