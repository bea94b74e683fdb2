import { randomUUID } from 'node:crypto'
import type { Store } from 'hapax'
import type { StoreBench, StoreHarness } from 'hapax/conformance'
import { migratePostgres, type PostgresStoreOptions, postgresRights, type RowSecurity } from 'hapax/postgres'
import pg from 'pg'
import { type PostgresProxy, postgresProxy } from '../support/postgres-proxy.js'
import type { ClientLibrary, LibraryNode } from './postgres-libraries.js'

/** One way to reach PostgreSQL, as an application may choose it. */
export interface Way<Tx> {
  readonly name: string
  readonly library: ClientLibrary<Tx>
  /** Where the schema is made, always without a pooler. */
  readonly serverUrl: string
  /** Where the nodes connect. */
  readonly url: string
  readonly connection: NonNullable<PostgresStoreOptions<pg.Pool>['connection']>
  readonly rowSecurity?: RowSecurity
}

/** A schema of its own for each case; a pool of its own, on a wire that can be cut, for each node. */
export function postgresHarness<Tx>(way: Way<Tx>): StoreHarness<Tx> {
  return { name: way.name, lacks: {}, fresh: () => freshSchema(way) }
}

async function freshSchema<Tx>(way: Way<Tx>): Promise<StoreBench<Tx>> {
  const { library, serverUrl, url, connection, rowSecurity = 'off' } = way
  const schema = `hapax_${randomUUID().replaceAll('-', '')}`
  const owner = new pg.Pool({ connectionString: serverUrl, max: 2 })
  const nodes = new Map<Store<Tx>, { readonly proxy: PostgresProxy; readonly node: LibraryNode<Tx> }>()
  await migratePostgres({ pool: owner, schema })
  await owner.query(`CREATE TABLE ${schema}.rides (name text NOT NULL)`)
  await owner.query(`CREATE TABLE ${schema}.pinned AS SELECT to_timestamp(0) AS at`)
  await owner.query(`CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT at FROM ${schema}.pinned $$`)
  const role = rowSecurity === 'off' ? undefined : await servingRole(owner, schema)
  return {
    async open() {
      const proxy = await postgresProxy(role === undefined ? url : asRole(url, role))
      const node = library.connect(proxy.url, { schema, connection, rowSecurity, statementTimeout: '20s' })
      await node.store.open()
      nodes.set(node.store, { proxy, node })
      return node.store
    },
    async setTime(ms) {
      await owner.query(`UPDATE ${schema}.pinned SET at = to_timestamp($1::float8 / 1000)`, [ms])
    },
    async dispose() {
      for (const { proxy, node } of nodes.values()) {
        await node.end()
        await proxy.close()
      }
      await owner.query(`DROP SCHEMA ${schema} CASCADE`)
      if (role !== undefined) await owner.query(`DROP ROLE ${role}`)
      await owner.end()
    },
    transactions: {
      insert: (tx, text) => library.insert(tx, `${schema}.rides`, text),
      async count() {
        const { rows } = await owner.query(`SELECT count(*)::int AS rides FROM ${schema}.rides`)
        return rows[0].rides
      },
    },
    cut: async (store) => nodes.get(store)?.proxy.cut(),
  }
}

/** Owns nothing and may do what serving needs, here under row security. */
async function servingRole(owner: pg.Pool, schema: string): Promise<string> {
  const role = `${schema}_serving`
  await owner.query(`CREATE ROLE ${role} LOGIN`)
  for (const statement of postgresRights({ role, schema, rowSecurity: 'scope' })) await owner.query(statement)
  await owner.query(`GRANT SELECT ON ${schema}.pinned TO ${role}`)
  await owner.query(`GRANT SELECT, INSERT ON ${schema}.rides TO ${role}`)
  return role
}

function asRole(url: string, role: string): string {
  const named = new URL(url)
  named.username = role
  return named.href
}
