import { type ErrorCode, HapaxError, isHapaxError } from '../../kernel/errors.js'

/**
 * How a fault of SQLite becomes an error of ours that says what to do, and how that error crosses from the thread
 * to the store: a structured clone of an error keeps nothing but its message.
 */
export interface Fault {
  /** `undefined` for a broken invariant: that is a bug, not a situation. */
  readonly code: ErrorCode | undefined
  readonly message: string
  readonly sqliteCode: string | undefined
}

interface Advice {
  readonly code: ErrorCode
  readonly say: string
}

const mayNotWrite: Advice = { code: 'store_unreachable', say: 'Let this user write the file and its directory.' }
const locked: Advice = { code: 'store_busy', say: 'Another process held the lock for too long. Try again.' }

/** By SQLite's primary result code; libsql names only some of the extended ones. */
const advice: Readonly<Record<number, Advice>> = {
  3: mayNotWrite, // PERM
  5: locked, // BUSY
  6: locked, // LOCKED
  8: mayNotWrite, // READONLY
  10: { code: 'store_failed', say: 'The disk failed to read or write. Check it and try again.' }, // IOERR
  11: { code: 'store_failed', say: 'The database is damaged. Restore it from a backup.' }, // CORRUPT
  13: { code: 'store_failed', say: 'The disk is full, so nothing was written. Free some space.' }, // FULL
  14: mayNotWrite, // CANTOPEN
  15: locked, // PROTOCOL
  26: { code: 'store_unreachable', say: 'The file is not a SQLite database. Give another path.' }, // NOTADB
}

const otherwise: Advice = { code: 'store_failed', say: 'SQLite refused it.' }

/** What the driver threw, as a HapaxError whose cause carries SQLite's own code. */
export function storeError(error: unknown): HapaxError {
  if (isHapaxError(error)) return error
  const sqliteCode = codeOf(error)
  const said = error instanceof Error ? error.message : String(error)
  const { code, say } = advice[primaryCode(error)] ?? otherwise
  return new HapaxError(code, `${say} (${said})`, { cause: sqliteError(said, sqliteCode) })
}

export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { code: undefined, message: String(error), sqliteCode: undefined }
  const { message } = error
  return { code: isHapaxError(error) ? error.code : undefined, message, sqliteCode: codeOf(error.cause) }
}

export function errorOf({ code, message, sqliteCode }: Fault): Error {
  if (code === undefined) return new Error(message)
  return new HapaxError(code, message, sqliteCode === undefined ? {} : { cause: sqliteError(message, sqliteCode) })
}

function primaryCode(error: unknown): number {
  const { rawCode } = error instanceof Error ? (error as { rawCode?: unknown }) : {}
  return typeof rawCode === 'number' ? rawCode & 0xff : 0
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' && code !== '' ? code : undefined
}

function sqliteError(message: string, code: string | undefined): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}
