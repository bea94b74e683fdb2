import type { Store } from 'hapax'
import type { StoreBench, StoreHarness } from 'hapax/conformance'
import { type PostgresStoreOptions, postgresRights, type RowSecurity } from 'hapax/postgres'
import type pg from 'pg'
import { asRole, freshSchema, ridesIn } from '../support/postgres-schema.js'
import { type PostgresWire, postgresWire } from '../support/postgres-wire.js'
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
  return { name: way.name, lacks: {}, fresh: () => freshBench(way) }
}

async function freshBench<Tx>(way: Way<Tx>): Promise<StoreBench<Tx>> {
  const { library, serverUrl, url, connection, rowSecurity = 'off' } = way
  const fresh = await freshSchema(serverUrl)
  const { schema, owner, setTime } = fresh
  const rides = await ridesIn(fresh)
  const nodes = new Map<Store<Tx>, { readonly wire: PostgresWire; readonly node: LibraryNode<Tx> }>()
  // Far from any real time, so that whoever reads another clock is found out before the first time is set.
  await setTime(0)
  const role = rowSecurity === 'off' ? undefined : await servingRole(owner, schema, rides.table)
  return {
    async open() {
      const wire = await postgresWire(role === undefined ? url : asRole(url, role))
      const node = library.connect(wire.url, { schema, connection, rowSecurity, statementTimeout: '20s' })
      await node.store.open()
      nodes.set(node.store, { wire, node })
      return node.store
    },
    setTime,
    async dispose() {
      for (const { wire, node } of nodes.values()) {
        await node.end()
        await wire.close()
      }
      if (role !== undefined) {
        await owner.query(`DROP OWNED BY ${role}`)
        await owner.query(`DROP ROLE ${role}`)
      }
      await fresh.dispose()
    },
    transactions: {
      insert: (tx, text) => library.insert(tx, rides.table, text),
      count: async () => (await rides.names()).length,
    },
    cut: async (store) => nodes.get(store)?.wire.cut(),
  }
}

/** Owns nothing and may do what serving needs, here under row security. */
async function servingRole(owner: pg.Pool, schema: string, rides: string): Promise<string> {
  const role = `${schema}_serving`
  await owner.query(`CREATE ROLE ${role} LOGIN`)
  for (const statement of postgresRights({ role, schema, rowSecurity: 'scope' })) await owner.query(statement)
  await owner.query(`GRANT SELECT, INSERT ON ${rides} TO ${role}`)
  return role
}
