import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, type EngineOptions, type EventName, type Events, engine, type LogEntry } from 'hapax'
import { migrateSqlite, type SqliteStore, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { onTestFinished } from 'vitest'
import { pinSqliteClock } from '../../../dist/stores/sqlite/testing.js'
import { toldNames } from '../../support/told.js'
import { type Row, recordOf, sqlOn } from './database.js'

/** A SQLite file of one test: nodes that share it, its clock, and its rows as somebody with plain SQL sees them. */
export interface TestFile {
  readonly path: string
  /** Another node on the file: a thread and a connection of its own. */
  node(options?: FileNodeOptions): FileNode
  /** Pins the clock of the file. */
  setTime(ms: number): Promise<void>
  sql(text: string, ...parameters: readonly unknown[]): Row[]
  /** The record of a key. */
  row(key: string): Row
}

export type FileNodeOptions = Pick<EngineOptions<SqliteTransaction>, 'clock' | 'chance' | 'effects'>

export interface FileNode {
  readonly store: SqliteStore
  readonly hapax: Engine<SqliteTransaction>
  readonly heard: Heard[]
  readonly logged: LogEntry[]
}

export interface Heard {
  readonly name: EventName
  readonly event: Events[EventName]
}

export async function testFile(): Promise<TestFile> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-acceptance-'))
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
    row: (key) => recordOf(path, key),
  }
}

function nodeOn(path: string, options: FileNodeOptions = {}): FileNode {
  const heard: Heard[] = []
  const logged: LogEntry[] = []
  const store = sqliteStore({ path })
  // Tests move the clock of the file by days in no time, and change its rows: whoever remembers an answer would not notice.
  const hapax = engine({ replayCache: 'off', ...options, store, log: (entry) => logged.push(entry) })
  for (const name of toldNames) hapax.on(name, (event) => heard.push({ name, event }))
  return { store, hapax, heard, logged }
}
