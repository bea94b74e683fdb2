import type { SqlValue } from '../sql/row.js'

/**
 * What the store needs of a client library: one statement on any connection, and a transaction on one. A library is
 * handed in and known by its shape; it is never imported, and none of its settings for types or names reach us,
 * because every value comes back as PostgreSQL spells it.
 */
export interface Connections<Tx> {
  query(query: Query, values: readonly SqlValue[]): Promise<readonly Row[]>
  /**
   * BEGIN, `body`, COMMIT on one connection. When `body` fails it is rolled back, and its error is thrown. When the
   * connection is lost that is thrown at once, even if `body` still runs; nothing it sends later reaches a connection.
   */
  transaction<T>(body: (session: Session<Tx>) => Promise<T>, opening?: Opening): Promise<T>
  /** Lets go of connections that still owe an answer, so that their pool can end. */
  close(): Promise<void>
}

/** What is said right behind BEGIN. It travels with it where the library sends several statements in one go. */
export interface Opening {
  readonly asked: readonly Asked[]
  /** The name of a savepoint behind it all, at which `undoable` begins. A library that opens its own knows no name. */
  readonly savepoint?: string
}

/** A statement, and what it is given. */
export interface Asked {
  readonly query: Query
  readonly values: readonly SqlValue[]
}

/** What several statements gave, in turn. */
export type Gave = readonly (readonly Row[])[]

/** What is said right before COMMIT, and who hears what it gave. */
export interface Last {
  readonly asked: readonly Asked[]
  readonly handOn: (gave: Gave) => void
}

export interface Session<Tx> {
  /** What the application is handed to write its own rows with. */
  readonly tx: Tx
  /** What the statements of the opening gave. */
  readonly opened: Gave
  query(query: Query, values: readonly SqlValue[]): Promise<readonly Row[]>
  /**
   * These are the last, and travel with COMMIT where the library sends several statements in one go: one that fails keeps it
   * from committing. Their rows are handed on when all of it is there for good.
   */
  last(last: Last): void
  /** Where the library must know of a savepoint; else the statements do. */
  readonly undoable?: Undoable<Tx>
  /** The application has said all: what it still sends is refused, so that nothing comes after the last write. */
  seal(): void
}

/** Runs a part of a transaction and undoes it where it threw, or where `isUndone` says so of what it gave. */
export type Undoable<Tx> = <T>(body: (tx: Tx) => Promise<T>, isUndone: (value: T) => boolean) => Promise<T>

/** How far a transaction is: the application may send while it is open, and the store until it is over. */
export interface Progress {
  stage: 'open' | 'sealed' | 'over'
}

/** A statement, and the names of the columns that it gives, in order. */
export interface Query {
  readonly text: string
  readonly gives: readonly string[]
  /**
   * `fresh` is never prepared under a name: a plan that was made while the table was small would be kept. `young` is, but under
   * another name now and then while the table may still be small; later, PostgreSQL makes plans anew whenever it has counted it.
   */
  readonly plan?: 'fresh' | 'young'
}

/** A row in PostgreSQL's own spelling. */
export type Row = Readonly<Record<string, string | null>>

/** How a library's connections are used. */
export interface ConnectionUse {
  /** Bounds the wait for a connection and for the answer to each statement. */
  readonly statementTimeoutMs: number
  /** Bounds how long the server lets a transaction sit idle while its handler does something else. */
  readonly transactionTimeoutMs: number
  /** A pooler in transaction mode hands each statement to another server connection, where no name is known. */
  readonly statements: 'named' | 'unnamed'
}

export const isolation = 'ISOLATION LEVEL READ COMMITTED'

/** Local to the transaction, so that a pooler's next client does not inherit it. The server bounds what we cannot. */
export function transactionSettings({ statementTimeoutMs, transactionTimeoutMs }: ConnectionUse): Asked {
  return saying(
    `SELECT set_config('statement_timeout', '${statementTimeoutMs}', true), set_config('idle_in_transaction_session_timeout', '${transactionTimeoutMs}', true)`,
  )
}

/** A statement that is given nothing, and gives nothing. */
export function saying(text: string): Asked {
  return { query: { text, gives: [] }, values: [] }
}

/** One after the other, where nothing can travel together. */
export async function inTurn(query: Session<unknown>['query'], asked: readonly Asked[]): Promise<Gave> {
  const gave: (readonly Row[])[] = []
  for (const one of asked) gave.push(await query(one.query, one.values))
  return gave
}

/** Gives the values of a row their names. */
export function named({ gives }: Pick<Query, 'gives'>, values: readonly (string | null)[]): Row {
  const row = { ...blankOf(gives) }
  for (let index = 0; index < gives.length; index++) row[gives[index] as string] = values[index] ?? null
  return row
}

/**
 * A row with nothing in it. Every row comes by here, and filling a copy of this one costs a fraction of what naming
 * column after column does: an object that grows by computed names becomes a hash table, one that is parsed does not.
 */
function blankOf(gives: readonly string[]): Record<string, string | null> {
  let blank = blanks.get(gives)
  if (blank === undefined) {
    blank = JSON.parse(`{${gives.map((name) => `${JSON.stringify(name)}:null`).join()}}`) as Record<string, null>
    blanks.set(gives, blank)
  }
  return blank
}

const blanks = new WeakMap<readonly string[], Record<string, string | null>>()
