import { type ErrorCode, HapaxError, isHapaxError } from '../../kernel/errors.js'
import type { ConnectionUse } from './connections.js'

/** What PostgreSQL or its driver threw, as a HapaxError that says what to do. */
export function storeError(error: unknown): HapaxError {
  if (isHapaxError(error)) return error
  const said = error instanceof Error ? error.message || sqlStateOf(error) : String(error)
  const { code, say } = adviceFor(sqlStateOf(error) || said)
  return new HapaxError(code, `${say} (${said})`, { cause: error })
}

export function lateStatement({ statementTimeoutMs }: ConnectionUse): HapaxError {
  return new HapaxError('store_failed', `PostgreSQL did not answer within ${statementTimeoutMs} ms.`)
}

export function noConnection({ statementTimeoutMs }: ConnectionUse): HapaxError {
  return new HapaxError(
    'store_busy',
    `No connection came within ${statementTimeoutMs} ms; nothing happened. Give the pool more of them, or check the server.`,
  )
}

/** A library that hides why the server ended a connection leaves it to us to say so. */
export function idleTransaction(error: unknown): HapaxError {
  return new HapaxError('transaction_timeout', 'The handler held its transaction for too long; it was rolled back.', {
    cause: error,
  })
}

export function endedTransaction(): HapaxError {
  return new HapaxError('transaction_ended', 'This transaction is over. Await every statement inside of its function.')
}

interface Advice {
  readonly code: ErrorCode
  readonly say: string
}

const advices: readonly (readonly [RegExp, Advice])[] = [
  [
    /^42501$/,
    {
      code: 'store_rights_missing',
      say: 'This role may not do that. Serve with one that has what `hapax rights` prints, migrate with the owner.',
    },
  ],
  [/^25006$/, { code: 'store_read_only', say: 'This server takes no writes. Connect to the primary.' }],
  [/^(42P01|3F000|42883)$/, { code: 'store_schema_outdated', say: 'The schema is not there. Run `hapax migrate`.' }],
  [/^(28|3D)/, { code: 'store_unreachable', say: 'PostgreSQL refused the login. Check role, password and database.' }],
  [
    /^(ECONNREFUSED|ENOTFOUND|ENOENT|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT)$/,
    { code: 'store_unreachable', say: 'No server answers there. Check host and port.' },
  ],
  // What the libraries say in words alone.
  [
    /^timeout exceeded when trying to connect/,
    { code: 'store_busy', say: 'No connection came free in time; nothing happened. Give the pool more of them.' },
  ],
  [/connection timeout/i, { code: 'store_unreachable', say: 'No server answers there. Check host and port.' }],
  [/password must be a string/, { code: 'store_unreachable', say: 'The server wants a password. Give one.' }],
  [/SSL/, { code: 'store_unreachable', say: 'The server and this side do not agree on TLS. Check sslmode.' }],
  [/^(53300|57P03)$/, { code: 'store_unreachable', say: 'PostgreSQL takes no more connections now. Try again.' }],
  [
    /^(40001|40P01|55P03)$/,
    { code: 'store_busy', say: 'Another transaction was in the way; nothing happened. Try again.' },
  ],
  [/^57014$/, { code: 'store_busy', say: 'It took longer than the statement timeout; nothing happened. Try again.' }],
  [
    /^25P0[34]$/,
    { code: 'transaction_timeout', say: 'The handler held its transaction for too long; it was rolled back.' },
  ],
]

function adviceFor(stateOrWords: string): Advice {
  const known = advices.find(([pattern]) => pattern.test(stateOrWords))
  return known?.[1] ?? { code: 'store_failed', say: 'PostgreSQL refused it, or the connection was lost.' }
}

/** The state of a server that takes no writes. */
export const readOnly = '25006'

export function sqlStateOf(error: unknown): string {
  const { code } = error instanceof Error ? (error as { code?: unknown }) : {}
  return typeof code === 'string' ? code : ''
}

/** The server answered, refused the statement, and the connection is as good as before. */
export function isRefusal(error: unknown): boolean {
  return isAnswer(error) && !isFarewell(error)
}

/**
 * What the server says last, before it closes the connection. Some libraries give the severity in the server's own
 * language: where it is no word that we know, the state tells, and in doubt the connection is taken for lost.
 */
export function isFarewell(error: unknown): boolean {
  if (!isAnswer(error)) return false
  const { severity } = error as { severity?: unknown }
  if (severity === 'ERROR') return false
  if (severity === 'FATAL' || severity === 'PANIC') return true
  return /^(57P0[1-5]|08...|25P0[34]|53300|58...|40003|XX...)$/.test(sqlStateOf(error))
}

/** Whether it is what the server itself said. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && /^[0-9A-Z]{5}$/.test(sqlStateOf(error))
}

/** Whether the connection may be used again. One that became read-only stays so when there is a new primary. */
export function isReusable(error: unknown): boolean {
  return isRefusal(error) && sqlStateOf(error) !== readOnly
}

/** What a statement of postgres.js ends in when its connection is gone. */
export function isLoss(error: unknown): boolean {
  return isFarewell(error) || /^(CONNECT|E[A-Z]+$)/.test(sqlStateOf(error))
}

/** At COMMIT this can only mean that all of it was undone: a constraint, a collision, or a trigger that raised. */
export function isUndoneCommit(error: unknown): boolean {
  return isRefusal(error) && /^(23...|40001|40P01|P0...)$/.test(sqlStateOf(error))
}

/** A record of that name is there, which somebody else has written. */
export function isTakenKey(error: unknown): boolean {
  return sqlStateOf(error) === '23505' && /\brecords_digest\b/.test((error as Error).message)
}

/**
 * The whole statement was undone because of one of its rows: a value that PostgreSQL does not take, a constraint, a collision.
 * Anything else would come of each row alone, too, and a server in trouble would be asked a hundred times as often.
 */
export function isSpoiled(error: unknown): boolean {
  return isRefusal(error) && /^(22...|23...|40...)$/.test(sqlStateOf(error))
}

/** The whole statement was undone, and asking again is what PostgreSQL expects. */
export function isCollision(error: unknown): boolean {
  return /^(40001|40P01)$/.test(sqlStateOf(error))
}
