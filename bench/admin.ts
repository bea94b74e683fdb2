import type pg from 'pg'
import { scopeOf } from '../dist/engine/scope.js'
import type { ListQuery } from '../dist/engine/store.js'
import { migratePostgres, postgresStore } from '../dist/stores/postgres/index.js'
import type { Asked, Bench, Measured } from './harness/bench.js'
import { closing } from './harness/closing.js'
import { durablePostgres } from './harness/postgres.js'

const chunk = 250_000
const boundMs = 100

export const admin: Bench = {
  name: 'admin',
  measures: 'how long what operators ask for takes, on five million records',
  how: `Each query is a page as the admin API asks for it, on a table with answers of a thousand tenants, a little under way, failed
or unknown. What counts is the slowest of its rounds; the first one, which has its plan and its pages made, is shown apart.`,
  turns: { rounds: 5, seconds: 1 },
  run: (asked) =>
    closing(async (later): Promise<Measured> => {
      const { pool, version } = await durablePostgres(later)
      await migratePostgres({ pool })
      await filled(pool, 5_000_000, asked)
      return { ...(await measured(pool, asked)), versions: { PostgreSQL: version } }
    }),
}

/** A second apart each, in a thousand tenants: mostly answers, a little under way, failed or unknown. */
async function filled(pool: pg.Pool, records: number, { say }: Asked): Promise<void> {
  for (let from = 1; from <= records; from += chunk) {
    await pool.query(
      `INSERT INTO hapax.records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
        request_fingerprint, attempt, locked_until, on_lease_over, recovery_point, response_status_code, response_headers,
        response_body, response_schema_version, evidence, created_at, last_run_at, expires_at, retention_ms, tombstone_ms)
      SELECT hapax.digest(scope, key), scope, key, 1, 1, key, status, 'operation-' || i % 20, '1.bench:aa', 1,
        CASE status WHEN 'in_progress' THEN now() + i % 60 * interval '1 second' END, 'doubt',
        CASE status WHEN 'completed' THEN 'finished' ELSE 'started' END, CASE status WHEN 'completed' THEN 201 END,
        CASE status WHEN 'completed' THEN '[["location","/payments/' || i || '"]]' END,
        CASE status WHEN 'completed' THEN '\\x7b7d'::bytea END, CASE status WHEN 'completed' THEN 1 END, '[]',
        now() - ($3::int - i) * interval '1 second', now(), now() + interval '1 day', 86400000, 86400000
      FROM (SELECT i, 'tenant-' || i % 1000 AS scope, md5(i::text) AS key,
        CASE WHEN i % 1000 < 3 THEN 'in_progress' WHEN i % 1000 < 5 THEN 'failed_retryable' WHEN i % 1000 = 5 THEN 'unknown'
          ELSE 'completed' END AS status FROM generate_series($1::int, $2::int) i) r`,
      [from, Math.min(from + chunk - 1, records), records],
    )
    say(`${Math.min(from + chunk - 1, records)} of ${records} records`)
  }
  await pool.query('VACUUM (ANALYZE) hapax.records')
}

async function measured(pool: pg.Pool, { rounds }: Asked): Promise<Omit<Measured, 'versions'>> {
  const store = postgresStore({ pool, connection: 'direct' })
  await store.open()
  const scope = scopeOf('tenant-7')
  const now = Date.now()
  const page = { order: 'newest', limit: 50 } as const
  const queries: Readonly<Record<string, Omit<ListQuery, 'limit'>>> = {
    newest: {},
    tenant: { tenant: 'tenant-7' },
    'tenant, completed': { tenant: 'tenant-7', state: 'completed' },
    key: { key: { is: '0cc175b9c0f1b6a831c399e269772661' } },
    'key prefix': { key: { startsWith: '0cc' } },
    unknown: { state: 'unknown' },
    'unknown of a tenant': { state: 'unknown', tenant: 'tenant-7' },
    failed: { state: 'failed_retryable' },
    'in progress': { state: 'in_progress' },
    expired: { state: 'expired' },
    'an hour, long ago': { since: now - 30 * 86_400_000, until: now - 30 * 86_400_000 + 3_600_000 },
    'an hour of a tenant': { scope, since: now - 7_200_000, until: now - 3_600_000 },
    'operation that is rare': { operation: 'nobody' },
    'status that is rare': { status: 402 },
    'resource of a tenant': { scope, resource: '/payments/7' },
  }
  const asked: Readonly<Record<string, () => Promise<unknown>>> = {
    ...Object.fromEntries(
      Object.entries(queries).map(([name, query]) => [name, () => store.list({ ...page, ...query })]),
    ),
    tenants: () => store.tenants({ limit: 50 }),
    'usage of a tenant': () => store.usage('tenant-7', 10_000),
    'dead letters': () => store.effects.list({ state: 'dead', limit: 50 }),
    'audit log': () => store.audit.list({ order: 'newest', limit: 50 }),
  }
  const rows: (readonly [name: string, slowestMs: number, firstMs: number])[] = []
  for (const [name, ask] of Object.entries(asked)) {
    const times: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const startedAt = performance.now()
      await ask()
      times.push(performance.now() - startedAt)
    }
    const [first = 0, ...others] = times
    rows.push([name, Number(Math.max(...others).toFixed(1)), Number(first.toFixed(1))])
  }
  const over = rows.filter(([, slowestMs]) => slowestMs > boundMs).map(([name]) => name)
  return {
    ratios: { [`slowest query / ${boundMs} ms`]: Number((Math.max(...rows.map(([, ms]) => ms)) / boundMs).toFixed(2)) },
    tables: [{ title: 'Milliseconds of a page', columns: ['query', 'slowest', 'first'], rows }],
    remarks: over.length === 0 ? [] : [`Over ${boundMs} ms: ${over.join(', ')}.`],
  }
}
