/** A statement of the application: any object with these two members, such as a compiled query of Kysely. */
export interface SqliteStatement {
  /** One statement. What follows its semicolon is not run. */
  readonly sql: string
  /** Text, numbers, bigints, booleans (as 1 and 0), bytes, `null`, or `undefined` (as NULL). */
  readonly parameters?: readonly unknown[]
}

/** What SQLite stores. An integer is a number where a number holds it exactly, else a bigint. */
export type SqliteValue = string | number | bigint | Uint8Array | null

export type SqliteRow = Readonly<Record<string, SqliteValue>>

export interface SqliteResult {
  readonly rows: readonly SqliteRow[]
  /** Rows inserted, updated or deleted. */
  readonly changes: number
}

/** A transaction of the database, held for one claim. */
export interface SqliteTransaction {
  run(statement: SqliteStatement): Promise<SqliteResult>
}
