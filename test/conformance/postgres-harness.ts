import type { Store } from 'hapax'
import type { StoreBench, StoreHarness } from 'hapax/conformance'
import { type PostgresStoreOptions, postgresRights, type RowSecurity } from 'hapax/postgres'
import type pg from 'pg'
import { servedTables } from '../../src/stores/postgres/tables.js'
import { asRole, type FreshSchema, freshSchema, type Rides, ridesIn } from '../support/postgres-schema.js'
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
  readonly batching?: 'on' | 'off'
}

/** A migrated schema, and what an application has in it. */
export interface Ground {
  readonly fresh: FreshSchema
  readonly rides: Rides
  readonly role: string | undefined
  /** As it was made. */
  clear(): Promise<void>
  drop(): Promise<void>
}

/**
 * A schema of its own for each case; a pool of its own, on a wire that can be cut, for each node. To make a schema and drop it
 * takes far longer than a case: where some are kept, a case gets one that another has left, and that was emptied since.
 */
export function postgresHarness<Tx>(way: Way<Tx>, kept?: Ground[]): StoreHarness<Tx> {
  return {
    name: way.name,
    lacks: {},
    async fresh() {
      const ground = kept?.pop() ?? (await freshGround(way))
      return benchOn(ground, way, async (how) => {
        if (how === 'cut' || kept === undefined) return ground.drop()
        await ground.clear()
        kept.push(ground)
      })
    },
  }
}

/** Whoever was cut off may still have a statement under way, and nobody knows when it lands. */
type Left = 'in order' | 'cut'

async function benchOn<Tx>(
  { fresh, rides, role }: Ground,
  { library, url, connection, rowSecurity = 'off', batching = 'on' }: Way<Tx>,
  leave: (how: Left) => Promise<void>,
): Promise<StoreBench<Tx>> {
  const { schema, setTime } = fresh
  const nodes = new Map<Store<Tx>, { readonly wire: PostgresWire; readonly node: LibraryNode<Tx> }>()
  let left: Left = 'in order'
  return {
    async open() {
      const wire = await postgresWire(role === undefined ? url : asRole(url, role))
      const node = library.connect(wire.url, { schema, connection, rowSecurity, batching, statementTimeout: '20s' })
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
      await leave(left)
    },
    transactions: {
      insert: (tx, text) => library.insert(tx, rides.table, text),
      count: async () => (await rides.names()).length,
    },
    async cut(store) {
      left = 'cut'
      await nodes.get(store)?.wire.cut()
    },
  }
}

async function freshGround<Tx>({ serverUrl, rowSecurity = 'off' }: Way<Tx>): Promise<Ground> {
  const fresh = await freshSchema(serverUrl)
  const { schema, owner, setTime } = fresh
  const rides = await ridesIn(fresh)
  const role = rowSecurity === 'off' ? undefined : await servingRole(owner, schema, rides.table)
  // Far from any real time, so that whoever reads another clock is found out before the first time is set.
  await setTime(0)
  const tables = [...servedTables.map(({ name }) => `${schema}.${name}`), rides.table]
  return {
    fresh,
    rides,
    role,
    async clear() {
      await owner.query(tables.map((table) => `DELETE FROM ${table}`).join('; '))
      await setTime(0)
    },
    async drop() {
      if (role !== undefined) {
        await owner.query(`DROP OWNED BY ${role}`)
        await owner.query(`DROP ROLE ${role}`)
      }
      await fresh.dispose()
    },
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
