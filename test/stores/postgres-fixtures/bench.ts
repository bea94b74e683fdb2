import type { Store } from 'hapax'
import { type PostgresStoreOptions, postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import type { ClientLibrary, LibraryNode } from '../../conformance/postgres-libraries.js'
import { plannedSchema, type Rides, ridesIn } from '../../support/postgres-schema.js'
import { type Ending, type PostgresWire, postgresWire } from '../../support/postgres-wire.js'

/** The instant at which the store's clock stands, unless a test moves it. */
export const noon = Date.UTC(2026, 0, 2, 12)

/** A schema of its own on a real server, its clock pinned, and a table for the rows of an application. */
export interface PostgresBench {
  readonly url: string
  readonly schema: string
  /** Looks and acts from outside, past every wire. */
  readonly owner: pg.Pool
  /** A store of the owner. */
  readonly outside: Store<never>
  /** A node with a wire of its own. */
  node<Tx>(library: ClientLibrary<Tx>, options?: NodeOptions): Promise<WiredNode<Tx>>
  setTime(ms: number): Promise<void>
  rides(): Promise<readonly string[]>
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

/** One bench for the tests around it: it is there before the first of them, empty before each, and goes after the last. */
export function postgresBench(url: string): PostgresBench {
  const { schema, owner, setTime, make, ...fresh } = plannedSchema(url)
  const nodes: { end(): Promise<void> }[] = []
  const endings: Promise<void>[] = []
  let rides: Rides

  beforeAll(async () => {
    await make()
    rides = await ridesIn({ schema, owner })
    await setTime(noon)
  })
  afterEach(async () => {
    // A client whose connection was cut takes a while to end: that is awaited once, for all of them.
    endings.push(...nodes.splice(0).map((node) => node.end()))
    for (const table of ['records', 'calls', 'testimonies', 'effects', 'effect_states', 'webhook_events'])
      await owner.query(`DELETE FROM ${schema}.${table}`)
    await owner.query(`DELETE FROM ${rides.table}`)
    await setTime(noon)
  })
  afterAll(async () => {
    await Promise.all(endings)
    await fresh.dispose()
  })

  return {
    url,
    schema,
    owner,
    outside: postgresStore({ pool: owner, schema }) as Store<never>,
    async node(library, { ending, search, ...options } = {}) {
      const wire = await postgresWire(search === undefined ? url : `${url}?${search}`, ending)
      const { store, end } = library.connect(wire.url, { connection: 'direct', ...options, schema })
      const node = {
        store,
        library,
        wire,
        ride: (tx: Parameters<typeof library.insert>[0], name: string) => library.insert(tx, rides.table, name),
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
    rides: () => rides.names(),
  }
}
