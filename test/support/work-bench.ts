import {
  type Engine,
  type EngineOptions,
  type EventName,
  type Events,
  engine,
  keyOf,
  type LogEntry,
  type Policy,
  type PolicyOptions,
  type StoredRecord,
  scopeOf,
} from 'hapax'
import { type SqliteStore, type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { onTestFinished } from 'vitest'
import { pinSqliteClock } from '../../dist/stores/sqlite/testing.js'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { type ManualClock, manualClock } from './manual-clock.js'
import { toldNames } from './told.js'

/** An engine on SQLite with phases to run, whose time and whose database's time are in the test's hand. */
export interface WorkBench {
  readonly path: string
  readonly store: SqliteStore
  readonly clock: ManualClock
  readonly hapax: Engine<SqliteTransaction>
  readonly events: Told[]
  readonly logged: LogEntry[]
  readonly policy: Policy<'reject'>
  /**
   * Another process on the same database. Its own clock stands still: what hangs in it is like a process that was frozen
   * or killed, since it renews nothing.
   */
  node(options?: Partial<EngineOptions<SqliteTransaction>>): Engine<SqliteTransaction>
  /** Lets so much time pass, here and in the database. Only while nothing is under way. */
  travel(ms: number): Promise<void>
  /** Sets the clock of the database alone, so far ahead of ours. */
  jump(ms: number): Promise<void>
  record(key?: string): Promise<StoredRecord | undefined>
  /** The names in the application's table, as somebody else sees them. */
  rides(): Promise<readonly unknown[]>
}

export type Told = { readonly name: EventName } & Partial<Events[EventName]>

export async function workBench(
  options: Partial<EngineOptions<SqliteTransaction>> = {},
  policy: Partial<Omit<PolicyOptions, 'concurrency'>> = {},
): Promise<WorkBench> {
  const path = freshPath()
  const store = sqliteStore({ path })
  onTestFinished(() => store.close())
  await store.open()
  await store.query({ sql: 'CREATE TABLE rides (name TEXT NOT NULL) STRICT' })
  const clock = manualClock()
  await pinSqliteClock(path, clock.now())
  const events: Told[] = []
  const logged: LogEntry[] = []
  const node: WorkBench['node'] = (others = {}) => {
    const log = (entry: LogEntry) => logged.push(entry)
    const made = engine<SqliteTransaction>({ store, clock: manualClock(clock.now()), log, ...options, ...others })
    for (const name of toldNames) made.on(name, (event) => events.push({ ...event, name }))
    return made
  }
  const hapax = node({ clock })
  return {
    path,
    store,
    clock,
    hapax,
    events,
    logged,
    policy: hapax.policy({ name: 'rides.create', ...policy }),
    node,
    async travel(ms) {
      await clock.advance(ms)
      await pinSqliteClock(path, clock.now())
    },
    jump: (ms) => pinSqliteClock(path, clock.now() + ms),
    record: (key = 'k') => store.find({ scope: scopeOf('acme'), key: keyOf(key) }),
    async rides() {
      const { rows } = await store.query({ sql: 'SELECT name FROM rides ORDER BY rowid' })
      return rows.map(({ name }) => name)
    },
  }
}

/** Writes one row of the application. */
export async function insertRide(tx: SqliteTransaction, name: string): Promise<{ readonly name: string }> {
  await tx.run({ sql: 'INSERT INTO rides (name) VALUES (?)', parameters: [name] })
  return { name }
}

/** Whose request it is. */
export const request = { scope: 'acme', key: 'k', input: { who: 'ann' } }

export function never(): Promise<never> {
  return new Promise(() => {})
}
