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
  readonly on: RegExp
  readonly code: ErrorCode
  readonly say: string
}

const advice: readonly Advice[] = [
  {
    on: /^SQLITE_(BUSY|LOCKED)/,
    code: 'store_busy',
    say: 'Another process held the write lock for too long. Try again.',
  },
  { on: /^SQLITE_FULL/, code: 'store_failed', say: 'The disk is full, so nothing was written. Free some space.' },
  { on: /^SQLITE_(READONLY|PERM)/, code: 'store_unreachable', say: 'Let this user write the file and its directory.' },
  { on: /^SQLITE_CANTOPEN/, code: 'store_unreachable', say: 'Let this user write the file and its directory.' },
  { on: /^SQLITE_NOTADB/, code: 'store_unreachable', say: 'The file is not a SQLite database. Give another path.' },
  { on: /^SQLITE_CORRUPT/, code: 'store_failed', say: 'The database is damaged. Restore it from a backup.' },
  { on: /^SQLITE_IOERR/, code: 'store_failed', say: 'The disk failed to read or write. Check it and try again.' },
]

const otherwise: Omit<Advice, 'on'> = { code: 'store_failed', say: 'SQLite refused it.' }

/** What the driver threw, as a HapaxError whose cause carries SQLite's own code. */
export function storeError(error: unknown): HapaxError {
  if (isHapaxError(error)) return error
  const sqliteCode = codeOf(error)
  const said = error instanceof Error ? error.message : String(error)
  const { code, say } = advice.find(({ on }) => on.test(sqliteCode ?? '')) ?? otherwise
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

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return typeof code === 'string' && code !== '' ? code : undefined
}

function sqliteError(message: string, code: string | undefined): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code })
}
