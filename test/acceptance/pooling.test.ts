import type pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import { noPooler, onPostgres, poolerUrl } from '../support/on-postgres.js'
import { type SchemaNode, type TestSchema, testSchema } from './support/test-schema.js'

/** Many requests on few connections, and on connections that belong to somebody else a moment later. */

const keys = Array.from({ length: 50 }, (_, number) => `k${number}`)

onPostgres('pooling', (url) => {
  let schema: TestSchema
  beforeEach(async () => {
    schema = await testSchema(url)
  })

  /** Every key is asked for twice on each node, at once; each answer is committed with a row. */
  async function serve(nodes: readonly SchemaNode[]): Promise<void> {
    const asked = nodes.flatMap(({ hapax }) => {
      const policy = hapax.policy({ name: 'payments.create', concurrency: 'wait' })
      return [...keys, ...keys].map((key) =>
        hapax.run({ scope: 'acme', key, policy }, (work) =>
          work.commit(async ({ tx }) => {
            await tx.query(`INSERT INTO ${schema.name}.payments (made_by) VALUES ($1)`, [key])
            return key
          }),
        ),
      )
    })
    const served = await Promise.all(asked)
    expect(served).toHaveLength(2 * keys.length * nodes.length)
    const first = served.filter(({ replayed }) => !replayed).map(({ value }) => value)
    expect(first.sort()).toEqual([...keys].sort())
    const paid = await schema.sql('SELECT made_by FROM payments ORDER BY id')
    expect(paid.map(({ made_by }) => made_by).sort()).toEqual([...keys].sort())
    for (const { wire } of nodes) expect(wire.refusals).toEqual([])
  }

  test('a hundred requests at once on a pool of one are served, and leave nothing in its session [S1-007]', async () => {
    const node = await schema.node({ max: 1 })
    const before = await sessionOf(node.pool)
    await serve([node])
    expect(await sessionOf(node.pool)).toEqual(before)
  })

  test('so they are under row security, where every statement names its scope and none inherits it [S1-007]', async () => {
    const node = await schema.node({ max: 1, rowSecurity: 'scope' })
    const before = await sessionOf(node.pool)
    await serve([node])
    const { scope, ...after } = await sessionOf(node.pool)
    expect(after).toEqual({ ...before, scope: undefined })
    expect(scope ?? '').toBe('')
  })

  const title = 'two nodes behind pgbouncer in transaction mode serve all of them, and prepare nothing by name'
  const pooler = poolerUrl
  if (pooler === undefined) test.skip(`${title} (skipped: ${noPooler})`, () => {})
  else
    test(`${title} [S1-007]`, async () => {
      const nodes = [
        await schema.node({ url: pooler, max: 20 }),
        await schema.node({ url: pooler, max: 20, rowSecurity: 'scope' }),
      ]
      await expectTransactionMode(nodes[0]?.pool)
      await serve(nodes)
      // Twenty sessions at once, so that pgbouncer shows more than the one it used last.
      const sessions = await Promise.all(
        Array.from({ length: 20 }, async (_, number) => nodes[number % 2]?.pool.query(session)),
      )
      for (const seen of sessions)
        expect(seen?.rows[0]).toMatchObject({
          prepared: '0',
          advisory: '0',
          timeouts: expect.not.stringContaining('by session'),
        })
    })
})

const session = `SELECT
  (SELECT count(*) FROM pg_prepared_statements) AS prepared,
  (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS advisory,
  (SELECT count(*) FROM pg_listening_channels()) AS channels,
  (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()) AS temporary,
  (SELECT string_agg(name || ' ' || setting || ' by ' || source, ', ' ORDER BY name) FROM pg_settings
    WHERE name LIKE '%timeout') AS timeouts,
  (SELECT string_agg(name || ' ' || setting, ', ' ORDER BY name) FROM pg_settings WHERE source = 'session') AS settings,
  current_setting('hapax.scope', true) AS scope`

/** Whatever a session may keep that its next user would inherit. */
async function sessionOf(pool: pg.Pool): Promise<Readonly<Record<string, unknown>>> {
  const [row] = (await pool.query(session)).rows
  return { ...row, pid: (await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid }
}

/** Behind a pooler in session mode, connections that are open at once would never share a session. */
async function expectTransactionMode(pool: pg.Pool | undefined): Promise<void> {
  const clients = await Promise.all(Array.from({ length: 20 }, () => pool?.connect()))
  try {
    const users = new Map<number, Set<number>>()
    for (let round = 0; round < 5; round++) {
      for (const [user, client] of clients.entries()) {
        const pid: number = (await client?.query('SELECT pg_backend_pid() AS pid'))?.rows[0].pid
        users.set(pid, (users.get(pid) ?? new Set()).add(user))
      }
    }
    expect(Math.max(...[...users.values()].map(({ size }) => size))).toBeGreaterThan(1)
  } finally {
    for (const client of clients) client?.release()
  }
}
