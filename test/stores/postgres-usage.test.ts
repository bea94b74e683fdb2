import { scopeOf } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { completion } from '../../dist/conformance/given.js'
import { onPostgres } from '../support/on-postgres.js'
import { recorded } from '../support/postgres-recorded.js'
import { type FreshSchema, fill, freshSchema } from '../support/postgres-schema.js'
import { claimed } from './given.js'

/**
 * A tenant is counted by an index, whatever the collation of the database. Here scopes are in a linguistic order, which
 * skips punctuation: the scopes of one tenant do not stand together in it.
 */

const tenants = 500
const perTenant = 40

onPostgres('in a database with a linguistic order', (url) => {
  let given: FreshSchema
  let text: string

  beforeAll(async () => {
    given = await freshSchema(url)
    const { owner, schema } = given
    await owner.query(`CREATE COLLATION ${schema}.linguistic (provider = icu, locale = 'en-u-ka-shifted')`)
    await owner.query(`ALTER TABLE ${schema}.records ALTER COLUMN scope_id TYPE text COLLATE ${schema}.linguistic`)
    // Of ten records nine are tombstones, which stay for longer than answers do.
    await fill(given, {
      count: tenants * perTenant * 10,
      key: `'key-' || i`,
      scope: `'tenant-' || i % ${tenants} || CASE WHEN i % 3 = 0 THEN '' ELSE ';principal=usr_' || i % 7 END`,
      status: `CASE WHEN i / ${tenants} % 10 = 0 THEN 'completed' ELSE 'expired' END`,
    })
    await owner.query(`VACUUM (ANALYZE) ${schema}.records`)
    const { pool, sent } = recorded(owner)
    await postgresStore({ pool, schema }).usage('tenant-7', 1_000)
    text = sent[0]?.text ?? ''
  }, 60_000)

  afterAll(() => given?.dispose())

  test.each(['tenant-7', 'tenant-70', 'tenant-0'])('%s is counted exactly', async (tenant) => {
    const { owner, schema, node } = given
    const { rows } = await owner.query(
      `SELECT count(*)::int AS keys, sum(octet_length(response_body))::int AS bytes FROM ${schema}.records
      WHERE split_part(scope_id, ';', 1) COLLATE "C" = $1 AND status = 'completed'`,
      [tenant],
    )
    expect(rows[0].keys).toBeGreaterThanOrEqual(perTenant - 1)
    expect(await node().store.usage(tenant, 1_000)).toEqual(rows[0])
  })

  test('tenants whose names differ in punctuation or case alone are told apart', async () => {
    const { store } = given.node()
    const names = ['acme', 'ac-me', 'a.c.m.e', 'ACME', 'acme-', "acme'"]
    for (const [index, tenant] of names.entries()) {
      for (const scope of [scopeOf(tenant), scopeOf({ tenant, principal: 'usr_7' })]) {
        await store.complete(await claimed(store, `key ${index}`, { scope }), completion('x'.repeat(index)))
      }
    }
    const counted = await Promise.all(names.map((tenant) => store.usage(tenant, 100)))
    expect(counted).toEqual(names.map((_, index) => ({ keys: 2, bytes: 2 * index })))
  })

  test.each(['custom', 'generic'])(
    'only the index of what is no tombstone is walked, and no row in vain, by a %s plan',
    async (kind) => {
      const client = await given.owner.connect()
      try {
        await client.query(`SET plan_cache_mode = force_${kind}_plan`)
        await client.query(`PREPARE asked AS ${text}`)
        const { rows } = await client.query(
          `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked('tenant-7', 'tenant-7;', 'tenant-7<', '1000')`,
        )
        const nodes = nodesOf(rows[0]['QUERY PLAN'][0].Plan)
        const walked = nodes.flatMap((node) => node['Index Name'] ?? [])
        expect(walked).toEqual(['records_live', 'records_live'])
        expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([])
        expect(nodes.reduce((sum, node) => sum + (node['Rows Removed by Filter'] ?? 0), 0)).toBe(0)
      } finally {
        client.release(true)
      }
    },
  )
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

function nodesOf(plan: Plan): readonly Plan[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]
}
