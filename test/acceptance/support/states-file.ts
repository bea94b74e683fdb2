import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, type Engine, type EventName, engine, eventNames, type LogEntry } from 'hapax'
import { migrateSqlite, type SqliteStore, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import Database from 'libsql'
import { onTestFinished } from 'vitest'
import { pinSqliteClock } from '../../../dist/stores/sqlite/testing.js'

/** A SQLite file of one test: nodes that share it, its clock, and its rows as somebody with plain SQL sees them. */
export interface TestFile {
  readonly path: string
  /** Another node on the file: a thread and a connection of its own. */
  node(options?: { readonly clock?: Clock }): FileNode
  /** Pins the clock of the file. */
  setTime(ms: number): Promise<void>
  sql(text: string, ...parameters: unknown[]): Row[]
  /** The record of a key. */
  row(key: string): Row
}

export interface FileNode {
  readonly store: SqliteStore
  readonly hapax: Engine<SqliteTransaction>
  readonly events: EventName[]
  readonly logged: LogEntry[]
}

export type Row = Readonly<Record<string, unknown>>

export const noon = Date.UTC(2026, 0, 1, 12)
export const seconds = 1_000
const minutes = 60 * seconds
export const hours = 60 * minutes
export const days = 24 * hours

export async function testFile(): Promise<TestFile> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-states-'))
  const path = join(directory, 'hapax.db')
  await migrateSqlite({ path })
  sqlOn(path, 'CREATE TABLE payments (id INTEGER PRIMARY KEY, made_by TEXT NOT NULL) STRICT')
  const nodes: FileNode[] = []
  onTestFinished(async () => {
    for (const { hapax, store } of nodes) {
      await hapax.close()
      await store.close()
    }
    await rm(directory, { recursive: true })
  })
  return {
    path,
    node(options) {
      const node = nodeOn(path, options)
      nodes.push(node)
      return node
    },
    setTime: (ms) => pinSqliteClock(path, ms),
    sql: (text, ...parameters) => sqlOn(path, text, ...parameters),
    row(key) {
      const [found, ...others] = sqlOn(path, 'SELECT * FROM hapax_records WHERE idempotency_key = ?', key)
      if (found === undefined || others.length > 0) throw new Error(`${key} has ${others.length} records, not one`)
      return found
    },
  }
}

function nodeOn(path: string, { clock }: { readonly clock?: Clock } = {}): FileNode {
  const events: EventName[] = []
  const logged: LogEntry[] = []
  const store = sqliteStore({ path })
  const hapax = engine({ store, log: (entry) => logged.push(entry), ...(clock && { clock }) })
  for (const name of eventNames) hapax.on(name, () => events.push(name))
  return { store, hapax, events, logged }
}

/** One statement from outside of Hapax, on any SQLite file. */
export function sqlOn(path: string, text: string, ...parameters: unknown[]): Row[] {
  const database = new Database(path, { timeout: 2_000 })
  try {
    const statement = database.prepare(text)
    if (statement.reader) return statement.all(parameters) as Row[]
    statement.run(parameters)
    return []
  } finally {
    database.close()
  }
}

/** A script from outside of Hapax. */
export function scriptOn(path: string, text: string): void {
  const database = new Database(path, { timeout: 2_000 })
  try {
    database.exec(text)
  } finally {
    database.close()
  }
}

/** Takes the table of records away, as a broken migration might; the function returned brings it back. */
export function withoutRecords(path: string): () => void {
  scriptOn(path, 'ALTER TABLE hapax_records RENAME TO hapax_records_gone')
  return () => scriptOn(path, 'ALTER TABLE hapax_records_gone RENAME TO hapax_records')
}
