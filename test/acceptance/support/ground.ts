import type { Effects, Engine } from 'hapax'
import type { SqliteTransaction } from 'hapax/sqlite'
import type pg from 'pg'
import { describe } from 'vitest'
import { onPostgres } from '../../support/on-postgres.js'
import { toldNames } from '../../support/told.js'
import { type Heard, testFile } from './test-file.js'
import { type TestSchema, testSchema } from './test-schema.js'
import { noon } from './times.js'

/** A database of one test with one face, so that the same is asked of SQLite and of PostgreSQL. Its clock stands at noon. */
export interface Ground {
  /** Another node, with connections of its own. */
  node(effects?: Effects): Promise<{ readonly hapax: Engine<unknown>; readonly heard: readonly Heard[] }>
  setTime(ms: number): Promise<void>
  /** Writes a row of the application, in a transaction that it was handed. */
  insert(tx: unknown, table: ApplicationTable, made_by: string): Promise<void>
  /** From now on the database lets no row into this table, whoever writes it. */
  closeTable(table: Table): Promise<void>
  reopenTable(table: Table): Promise<void>
  /** The rows that everybody sees. */
  rows(table: Table): Promise<readonly Readonly<Record<string, unknown>>[]>
  sql(text: string): Promise<unknown>
  /** How the database itself calls a table. */
  name(table: Table): string
}

export type ApplicationTable = 'payments'
export type Table = ApplicationTable | 'records' | 'effects' | 'effect_states' | 'webhook_events'

/** Declares the same tests on each database. */
export function onEach(declare: (ground: () => Promise<Ground>) => void): void {
  describe('on SQLite', () => declare(onSqlite))
  onPostgres('on PostgreSQL', (url) => declare(() => onSchema(url)))
}

async function onSqlite(): Promise<Ground> {
  const file = await testFile()
  await file.setTime(noon)
  const name = (table: Table) => (table === 'payments' ? table : `hapax_${table}`)
  return {
    async node(effects) {
      const { hapax, heard } = file.node(effects === undefined ? {} : { effects })
      return { hapax: hapax as Engine<unknown>, heard }
    },
    setTime: file.setTime,
    async insert(tx, table, madeBy) {
      const sql = `INSERT INTO ${table} (made_by) VALUES (?)`
      await (tx as SqliteTransaction).run({ sql, parameters: [madeBy] })
    },
    async closeTable(table) {
      const no = "BEGIN SELECT RAISE(ABORT, 'closed'); END"
      file.sql(`CREATE TRIGGER close_${table} BEFORE INSERT ON ${name(table)} ${no}`)
    },
    async reopenTable(table) {
      file.sql(`DROP TRIGGER close_${table}`)
    },
    rows: async (table) => file.sql(`SELECT * FROM ${name(table)}`),
    sql: async (text) => file.sql(text),
    name,
  }
}

async function onSchema(url: string): Promise<Ground> {
  const schema: TestSchema = await testSchema(url)
  await schema.setTime(noon)
  return {
    async node(effects) {
      const { hapax } = await schema.node(effects === undefined ? {} : { effects })
      const heard: Heard[] = []
      for (const name of toldNames) hapax.on(name, (event) => heard.push({ name, event }))
      return { hapax: hapax as Engine<unknown>, heard }
    },
    setTime: schema.setTime,
    async insert(tx, table, madeBy) {
      await (tx as pg.PoolClient).query(`INSERT INTO ${schema.name}.${table} (made_by) VALUES ($1)`, [madeBy])
    },
    async closeTable(table) {
      await schema.sql(`CREATE FUNCTION closed_${table}() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION 'closed'; END $$`)
      await schema.sql(`CREATE TRIGGER close_${table} BEFORE INSERT ON ${table}
        FOR EACH ROW EXECUTE FUNCTION closed_${table}()`)
    },
    async reopenTable(table) {
      await schema.sql(`DROP TRIGGER close_${table} ON ${table}`)
    },
    rows: (table) => schema.sql(`SELECT * FROM ${table}`),
    sql: schema.sql,
    name: (table) => table,
  }
}
