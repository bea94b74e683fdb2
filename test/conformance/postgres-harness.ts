import { randomUUID } from 'node:crypto'
import type { Store } from 'hapax'
import type { StoreBench, StoreHarness } from 'hapax/conformance'
import pg from 'pg'
import { migratePostgres, postgresStore } from '../../dist/stores/postgres/index.js'
import { type PostgresProxy, postgresProxy } from '../support/postgres-proxy.js'

/** A schema of its own for each case; a pool of its own, on a wire that can be cut, for each node. */
export function postgresHarness(url: string): StoreHarness<pg.PoolClient> {
  return { name: 'postgres', lacks: {}, fresh: () => freshSchema(url) }
}

async function freshSchema(url: string): Promise<StoreBench<pg.PoolClient>> {
  const schema = `hapax_${randomUUID().replaceAll('-', '')}`
  const owner = new pg.Pool({ connectionString: url, max: 2 })
  const nodes = new Map<Store<pg.PoolClient>, { readonly proxy: PostgresProxy; readonly pool: pg.Pool }>()
  await migratePostgres({ pool: owner, schema })
  await owner.query(`CREATE TABLE ${schema}.rides (name text NOT NULL)`)
  await owner.query(`CREATE TABLE ${schema}.pinned (at timestamptz NOT NULL)`)
  await owner.query(`CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT at FROM ${schema}.pinned $$`)
  return {
    async open() {
      const proxy = await postgresProxy(url)
      const pool = new pg.Pool({ connectionString: proxy.url, max: 4 })
      pool.on('error', () => undefined)
      const store = postgresStore<pg.PoolClient>({ pool, schema })
      await store.open()
      nodes.set(store, { proxy, pool })
      return store
    },
    async setTime(ms) {
      await owner.query(`DELETE FROM ${schema}.pinned`)
      await owner.query(`INSERT INTO ${schema}.pinned VALUES (to_timestamp($1::float8 / 1000))`, [ms])
    },
    async dispose() {
      for (const { proxy, pool } of nodes.values()) {
        await pool.end()
        await proxy.close()
      }
      await owner.query(`DROP SCHEMA ${schema} CASCADE`)
      await owner.end()
    },
    transactions: {
      insert: async (tx, text) => void (await tx.query(`INSERT INTO ${schema}.rides VALUES ($1)`, [text])),
      async count() {
        const { rows } = await owner.query(`SELECT count(*)::int AS rides FROM ${schema}.rides`)
        return rows[0].rides
      },
    },
    cut: async (store) => nodes.get(store)?.proxy.cut(),
  }
}
