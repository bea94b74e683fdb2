import { randomUUID } from 'node:crypto'
import type { PostgresStoreOptions } from 'hapax/postgres'
import { migratePostgres } from 'hapax/postgres'
import pg from 'pg'
import { expect } from 'vitest'
import type { ClientLibrary, LibraryNode } from '../../conformance/postgres-libraries.js'
import { type Ending, type PostgresWire, postgresWire } from '../../support/postgres-wire.js'

/** Where the server of these tests is; without one they are skipped, and say so. */
export const serverUrl = process.env.HAPAX_TEST_POSTGRES_URL
export const skipped = '(skipped: no PostgreSQL, set HAPAX_TEST_POSTGRES_URL)'

/** The instant at which the store's clock stands, unless a test moves it. */
export const noon = Date.UTC(2026, 0, 2, 12)

/** A schema of its own on a real server, its clock pinned, and a table for the rows of an application. */
export interface PostgresBench {
  readonly schema: string
  /** Looks and acts from outside, past every wire. */
  readonly owner: pg.Pool
  /** A node with a wire of its own. */
  node<Tx>(library: ClientLibrary<Tx>, options?: NodeOptions): Promise<WiredNode<Tx>>
  setTime(ms: number): Promise<void>
  rides(): Promise<readonly string[]>
  /** As if nothing had happened yet. */
  clear(): Promise<void>
  dispose(): Promise<void>
}

export interface NodeOptions extends Omit<PostgresStoreOptions<pg.Pool>, 'pool' | 'schema'> {
  readonly ending?: Ending
  /** What is added to the address, like `options=-c%20…`. */
  readonly search?: string
}

export interface WiredNode<Tx> extends LibraryNode<Tx> {
  readonly wire: PostgresWire
  readonly library: ClientLibrary<Tx>
  /** Writes a row of the application. */
  ride(tx: Tx, name: string): Promise<void>
}

export async function postgresBench(): Promise<PostgresBench> {
  if (serverUrl === undefined) throw new Error('There is no server.')
  const url = serverUrl
  const schema = `hapax_${randomUUID().replaceAll('-', '')}`
  const owner = new pg.Pool({ connectionString: url, max: 6 })
  const nodes: { end(): Promise<void> }[] = []
  const endings: Promise<void>[] = []
  await migratePostgres({ pool: owner, schema })
  await owner.query(`CREATE TABLE ${schema}.rides (name text NOT NULL)`)
  await owner.query(`CREATE TABLE ${schema}.pinned AS SELECT to_timestamp(${noon / 1000}) AS at`)
  await owner.query(`CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT at FROM ${schema}.pinned $$`)

  const setTime = async (ms: number) => {
    await owner.query(`UPDATE ${schema}.pinned SET at = to_timestamp($1::float8 / 1000)`, [ms])
  }
  return {
    schema,
    owner,
    async node(library, { ending, search, ...options } = {}) {
      const wire = await postgresWire(search === undefined ? url : `${url}?${search}`, ending)
      const { store, end } = library.connect(wire.url, { connection: 'direct', ...options, schema })
      const node = {
        store,
        library,
        wire,
        ride: (tx: Parameters<typeof library.insert>[0], name: string) => library.insert(tx, `${schema}.rides`, name),
        async end() {
          wire.heal()
          await end()
          await wire.close()
          // Whoever cancels a statement may undo a commit that others already count on.
          expect(wire.cancels).toBe(0)
        },
      }
      nodes.push(node)
      return node
    },
    setTime,
    async rides() {
      const { rows } = await owner.query(`SELECT name FROM ${schema}.rides ORDER BY name`)
      return rows.map(({ name }) => name)
    },
    async clear() {
      // A client whose connection was cut takes a while to end: that is awaited once, for all of them.
      endings.push(...nodes.splice(0).map((node) => node.end()))
      await owner.query(`DELETE FROM ${schema}.records`)
      await owner.query(`DELETE FROM ${schema}.rides`)
      await setTime(noon)
    },
    async dispose() {
      await Promise.all([...endings, ...nodes.map((node) => node.end())])
      await owner.query(`DROP SCHEMA ${schema} CASCADE`)
      await owner.end()
    },
  }
}
