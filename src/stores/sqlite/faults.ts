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

const advice: readonly (readonly [codes: RegExp, code: ErrorCode, say: string])[] = [
  [/^SQLITE_(BUSY|LOCKED)/, 'store_busy', 'Another process held the write lock for too long. Try again, or raise busyTimeout.'],
  [/^SQLITE_FULL/, 'store_failed', 'The disk is full, so this step was not written. Free some space and try again.'],
  [/^SQLITE_(READONLY|PERM|AUTH)/, 'store_unreachable', 'The database cannot be written. Let this user write the file and its directory.'],
  [/^SQLITE_CANTOPEN/, 'store_unreachable', 'The database cannot be opened. Let this user write the file and its directory.'],
  [/^SQLITE_NOTADB/, 'store_unreachable', 'The file is not a SQLite database. Give another path, or restore it from a backup.'],
  [/^SQLITE_CORRUPT/, 'store_failed', 'The database is damaged. Stop its writers and restore it from a backup.'],
  [/^SQLITE_IOERR/, 'store_failed', 'The disk failed to read or write. Check it, then try again.'],
]

/** What the driver threw, as a HapaxError whose cause carries SQLite's own code. */
export function storeError(error: unknown): HapaxError {
  if (isHapaxError(error)) return error
  const sqliteCode = codeOf(error)
  const said = error instanceof Error ? error.message : String(error)
  const [, code, say] = advice.find(([codes]) => codes.test(sqliteCode ?? '')) ?? [, 'store_failed', 'SQLite refused it.']
  return new HapaxError(code as ErrorCode, `${say} (${said})`, { cause: sqliteError(said, sqliteCode) })
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

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' && code !== '' ? code : undefined
}

function sqliteError(message: string, code: string | undefined): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}
