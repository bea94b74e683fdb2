import { HapaxError } from '../../kernel/errors.js'
import type { Connections, Query } from './connections.js'
import { sqlStateOf } from './faults.js'
import { migrations, schemaVersion } from './migrations/index.js'

export const defaultSchema = 'hapax'

/** A schema name as SQL writes it. */
export function quoted(schema: string): string {
  if (/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(schema)) return `"${schema}"`
  throw new HapaxError(
    'store_unknown',
    `The schema ${JSON.stringify(schema)} is no plain name: use a-z, 0-9 and _, and do not begin with pg_.`,
  )
}

export interface MigratePostgresOptions {
  /** `preview` says what `apply` would do, and changes nothing. */
  readonly mode?: 'apply' | 'preview'
}

export interface PostgresMigration {
  readonly schema: string
  /** The version that was found; 0 is none. */
  readonly from: number
  readonly to: number
  /** The migrations that were applied, or that would be. */
  readonly migrations: readonly string[]
}

/** Brings the schema to this release: one transaction behind a lock, so that of many processes one does the work. */
export async function migrate<Tx>(
  connections: Connections<Tx>,
  name: string,
  mode: 'apply' | 'preview',
): Promise<PostgresMigration> {
  const schema = quoted(name)
  const result = (from: number) => {
    refuseNewer(name, from)
    return { schema: name, from, to: schemaVersion, migrations: pendingAfter(from).map((migration) => migration.name) }
  }
  if (mode === 'preview') return result(await versionOf(connections, schema))
  return connections.transaction(async (session) => {
    const run = (text: string, ...values: (string | number)[]) => session.query({ text, gives: [] }, values)
    await run('SELECT pg_advisory_xact_lock(hashtext($1))', `hapax migrate ${name}`)
    // Not IF NOT EXISTS, which asks for the right to create even where the schema is there.
    const [there] = await session.query({ text: 'SELECT to_regnamespace($1)', gives: ['schema'] }, [name])
    if (there?.schema == null) await run(`CREATE SCHEMA ${schema}`)
    await run(`CREATE TABLE IF NOT EXISTS ${schema}.migrations
      (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
    const [row] = await session.query(lastOf(schema), [])
    const found = result(Number(row?.version ?? 0))
    for (const { version, name, sql } of pendingAfter(found.from)) {
      for (const statement of sql(schema)) await run(statement)
      await run(`INSERT INTO ${schema}.migrations (version, name) VALUES ($1, $2)`, version, name)
    }
    return found
  })
}

/** The number of the last migration that was applied; 0 before the first. */
export async function versionOf<Tx>(connections: Connections<Tx>, schema: string): Promise<number> {
  try {
    const [row] = await connections.query(lastOf(schema), [])
    return Number(row?.version ?? 0)
  } catch (error) {
    if (['42P01', '3F000'].includes(sqlStateOf(error))) return 0
    throw error
  }
}

function lastOf(schema: string): Query {
  return { text: `SELECT max(version) FROM ${schema}.migrations`, gives: ['version'] }
}

function pendingAfter(version: number) {
  return migrations.filter((migration) => migration.version > version)
}

function refuseNewer(schema: string, version: number): void {
  if (version <= schemaVersion) return
  throw new HapaxError(
    'store_schema_newer',
    `The schema ${schema} is at version ${version}, this release knows ${schemaVersion}. Install the release of hapax that wrote it, or a later one.`,
  )
}
