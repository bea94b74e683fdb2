import { HapaxError, isHapaxError } from '../../kernel/errors.js'
import { storeError } from './faults.js'
import type { SqliteResult, SqliteRow, SqliteStatement, SqliteValue } from './statement.js'

/**
 * Everything that libsql does its own way stays in this file: parameters go in as one checked array (a boolean, or
 * a buffer on its own, would abort the whole process), rows come out as plain objects, and each of its errors
 * becomes one of ours.
 */
export interface Driver {
  readonly inTransaction: boolean
  /** Runs a script without results. */
  exec(sql: string): void
  /** A statement of ours, kept. Its integers are small. */
  prepare<Row>(sql: string): Prepared<Row>
  /** A statement of the application, run once. Its integers may have all 64 bits. */
  run(statement: SqliteStatement): SqliteResult
  close(): void
}

export interface Prepared<Row> {
  get(parameters: readonly unknown[]): Row | undefined
  all(parameters: readonly unknown[]): Row[]
  run(parameters: readonly unknown[]): void
}

/** Opens a file. Throws what libsql throws, a plain error that says little. */
export type OpenDriver = (path: string) => Driver

/** libsql is an optional dependency: where it is missing, opening says what to install. */
export async function loadDriver(): Promise<OpenDriver> {
  try {
    const { default: Database } = (await import('libsql')) as { default: NativeConstructor }
    return (path) => driverOn(new Database(path))
  } catch (error) {
    return () => {
      const message = 'hapax/sqlite needs the package libsql, which cannot be loaded. Run: npm install libsql'
      throw new HapaxError('store_unreachable', message, { cause: error })
    }
  }
}

function driverOn(native: NativeDatabase): Driver {
  const prepare = (sql: string) => {
    const statement = guarded(() => native.prepare(sql))
    return statement.reader ? statement.raw() : statement
  }
  const changes = kept<Changes>(prepare('SELECT changes() AS recent, total_changes() AS total'))
  return {
    get inTransaction() {
      return native.inTransaction
    },
    exec: (sql) => guarded(() => native.exec(sql)),
    prepare: (sql) => kept(prepare(sql)),
    run: ({ sql, parameters = [] }) => ran(prepare(sql), parameters, changes),
    close: () => guarded(() => native.close()),
  }
}

/** The part of libsql that is used here. */
type NativeConstructor = new (path: string) => NativeDatabase

interface NativeDatabase {
  readonly inTransaction: boolean
  exec(sql: string): void
  prepare(sql: string): NativeStatement
  close(): void
}

interface NativeStatement {
  readonly reader: boolean
  /** From here on rows are arrays, which libsql makes in half the time. */
  raw(): NativeStatement
  safeIntegers(): NativeStatement
  columns(): readonly { readonly name: string }[]
  get(parameters: SqliteValue[]): unknown[] | undefined
  all(parameters: SqliteValue[]): unknown[][]
  run(parameters: SqliteValue[]): { readonly changes: number }
}

function kept<Row>(statement: NativeStatement): Prepared<Row> {
  const names = namesOf(statement)
  return {
    get: (parameters) => guarded(() => named(names, statement.get(parameters.map(bindable)))) as Row | undefined,
    all: (parameters) =>
      guarded(() => statement.all(parameters.map(bindable)).map((row) => named(names, row))) as Row[],
    run: (parameters) => guarded(() => void statement.run(parameters.map(bindable))),
  }
}

interface Changes {
  readonly recent: number
  readonly total: number
}

/** Only `RETURNING` both writes and gives rows; what it changed must be asked for. */
function ran(statement: NativeStatement, parameters: readonly unknown[], changes: Prepared<Changes>): SqliteResult {
  return guarded(() => {
    const values = parameters.map(bindable)
    if (!statement.reader) return { rows: [], changes: statement.run(values).changes }
    const before = changes.get([])
    const found = statement.safeIntegers().all(values)
    const names = namesOf(statement)
    const rows = found.map((row) => named(names, row.map(exact)))
    const after = changes.get([])
    return { rows, changes: after?.total === before?.total ? 0 : (after?.recent ?? 0) }
  })
}

function namesOf(statement: NativeStatement): readonly string[] {
  return statement.columns().map(({ name }) => name)
}

function named(names: readonly string[], values: readonly unknown[]): SqliteRow
function named(names: readonly string[], values: readonly unknown[] | undefined): SqliteRow | undefined
function named(names: readonly string[], values: readonly unknown[] | undefined): SqliteRow | undefined {
  if (values === undefined) return undefined
  const row: Record<string, SqliteValue> = {}
  for (const [index, name] of names.entries()) row[name] = values[index] as SqliteValue
  return row
}

/** libsql cuts a text off at a NUL when it reads it back, so such a text is refused before it is written. */
function bindable(value: unknown): SqliteValue {
  if (value === undefined || value === null) return null
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'number' || value instanceof Uint8Array) return value
  if (typeof value === 'string' && !value.includes('\0')) return value
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) === value) return value
  const allowed = 'text without NUL, a number, a bigint of 64 bits, a boolean, bytes, null or undefined'
  throw new HapaxError(
    'store_failed',
    `SQLite cannot hold a parameter of type ${typeof value} like this one. Give ${allowed}.`,
  )
}

/** A number where a number holds the integer exactly. */
function exact(value: unknown): unknown {
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function guarded<T>(use: () => T): T {
  try {
    return use()
  } catch (error) {
    throw isHapaxError(error) ? error : storeError(error)
  }
}
