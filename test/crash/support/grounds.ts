import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrateSqlite } from 'hapax/sqlite'
import { pinSqliteClock } from '../../../dist/stores/sqlite/testing.js'
import { sqlOn } from '../../acceptance/support/database.js'
import { freshSchema } from '../../support/postgres-schema.js'
import { until } from '../../support/waiting.js'

/** A database of one scenario, as somebody with plain SQL sees it who belongs to no victim. */
export interface Ground {
  /** What the victim is told to open. */
  readonly store: object
  /** The rows of the application. */
  rows(table: Table): Promise<number>
  /** The states of all records. */
  records(): Promise<readonly string[]>
  setTime(ms: number): Promise<void>
  /** Resolves when nothing of a killed process holds anything here. */
  released(): Promise<void>
  dispose(): Promise<void>
}

const tables = ['rides', 'receipts', 'payments'] as const

export type Table = (typeof tables)[number]

export async function sqliteGround(): Promise<Ground> {
  const directory = await mkdtemp(join(tmpdir(), 'hapax-crash-'))
  const path = join(directory, 'hapax.db')
  await migrateSqlite({ path })
  for (const table of tables) sqlOn(path, `CREATE TABLE ${table} (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT`)
  return {
    store: { kind: 'sqlite', path },
    rows: async (table) => sqlOn(path, `SELECT id FROM ${table}`).length,
    records: async () => sqlOn(path, 'SELECT status FROM hapax_records').map(({ status }) => String(status)),
    setTime: (ms) => pinSqliteClock(path, ms),
    // The locks of a file are its process's.
    released: async () => {},
    dispose: () => rm(directory, { recursive: true }),
  }
}

/** With group commit, as it is by default, or without. */
export async function postgresGround(url: string, batching: 'on' | 'off'): Promise<Ground> {
  const { schema, owner, setTime, dispose } = await freshSchema(url)
  for (const table of tables) {
    await owner.query(
      `CREATE TABLE ${schema}.${table} (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL)`,
    )
  }
  const sessions = async () => {
    const text = 'SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = $1'
    return Number((await owner.query(text, [schema])).rows[0].count)
  }
  return {
    store: { kind: 'postgres', url, schema, batching },
    rows: async (table) => (await owner.query(`SELECT id FROM ${schema}.${table}`)).rows.length,
    records: async () => (await owner.query(`SELECT status FROM ${schema}.records`)).rows.map(({ status }) => status),
    setTime,
    // The server rolls back when it finds the connection closed, a moment after the process is gone.
    released: async () => void (await until(sessions, (count) => count === 0, 'the sessions of the killed to end')),
    dispose,
  }
}
