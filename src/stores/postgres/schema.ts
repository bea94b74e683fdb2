import { HapaxError } from '../../kernel/errors.js'
import type { Connections } from './connections.js'
import { sqlStateOf } from './faults.js'
import { migrations, schemaVersion } from './migrations/index.js'

/** A schema name as SQL writes it. */
export function quoted(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return `"${schema}"`
  throw new HapaxError('store_unknown', `The schema "${schema}" is no plain name: use a-z, 0-9 and _.`)
}

/** The number of the last migration that was applied; 0 before the first. */
async function versionOf<Tx>(connections: Connections<Tx>, schema: string): Promise<number> {
  try {
    const [row] = await connections.query(`SELECT max(version)::float8 AS version FROM ${schema}.migrations`, [])
    return Number(row?.version ?? 0)
  } catch (error) {
    if (sqlStateOf(error) === '42P01' || sqlStateOf(error) === '3F000') return 0
    throw error
  }
}

export async function refuseOtherSchema<Tx>(connections: Connections<Tx>, schema: string): Promise<void> {
  const version = await versionOf(connections, schema)
  if (version === schemaVersion) return
  const what = `The schema ${schema} is at version ${version}, this release needs ${schemaVersion}.`
  if (version > schemaVersion)
    throw new HapaxError('store_schema_newer', `${what} Install the release that wrote it, or a later one.`)
  throw new HapaxError(
    'store_schema_outdated',
    `${what} Run migratePostgres({ pool }) with a role that owns the schema.`,
  )
}

/** Applies what is missing, in one transaction behind a lock, so that of many processes one does the work. */
export async function applyPending<Tx>(connections: Connections<Tx>, schema: string): Promise<readonly string[]> {
  return connections.session(async (session) => {
    const run = (sql: string, values: readonly unknown[] = []) => session.query(sql, values)
    await run('BEGIN')
    try {
      await run('SELECT pg_advisory_xact_lock(hashtext($1))', [`hapax migrate ${schema}`])
      await run(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
      await run(`CREATE TABLE IF NOT EXISTS ${schema}.migrations
        (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`)
      const [row] = await run(`SELECT coalesce(max(version), 0)::float8 AS version FROM ${schema}.migrations`)
      const pending = migrations.filter(({ version }) => version > Number(row?.version ?? 0))
      for (const { version, name, sql } of pending) {
        for (const statement of sql(schema)) await run(statement)
        await run(`INSERT INTO ${schema}.migrations (version, name) VALUES ($1, $2)`, [version, name])
      }
      await run('COMMIT')
      return pending.map(({ name }) => name)
    } catch (error) {
      await run('ROLLBACK').catch(() => undefined)
      throw error
    }
  })
}
