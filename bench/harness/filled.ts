import type pg from 'pg'

/** Records as they lie there after a while. */
export interface Filling {
  readonly schema: string
  readonly count: number
  /** Kept and answered; or past their retention, half of them tombstones that may be deleted. */
  readonly age: 'kept' | 'past retention'
}

/** So that no statement runs for minutes. */
const perStatement = 125_000
/** Statements at once: a bench has the machine to itself. */
const atOnce = 2

/** Written by the database itself, through every check that it has. */
export async function fill(pool: pg.Pool, filling: Filling): Promise<void> {
  const { schema, count } = filling
  await withoutIndexes(pool, `${schema}.records`, async () => {
    let next = 1
    const writer = async () => {
      while (next <= count) {
        const from = next
        next += perStatement
        await pool.query(insertion(filling, from, Math.min(count, from + perStatement - 1)))
      }
    }
    await Promise.all(Array.from({ length: atOnce }, writer))
  })
  await pool.query(`VACUUM ANALYZE ${schema}.records`)
}

/** Indexes are made anew afterwards, since that is quicker. */
export async function withoutIndexes(pool: pg.Pool, table: string, write: () => Promise<void>): Promise<void> {
  const indexes = await pool.query<{ name: string; definition: string }>(
    `SELECT c.oid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
     FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
     WHERE i.indrelid = '${table}'::regclass AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)`,
  )
  for (const { name } of indexes.rows) await pool.query(`DROP INDEX ${name}`)
  await write()
  for (const { definition } of indexes.rows) await pool.query(definition)
}

function insertion({ schema, age }: Filling, from: number, to: number): string {
  const status = age === 'kept' ? `'completed'` : `CASE i % 2 WHEN 0 THEN 'completed' ELSE 'expired' END`
  const at = age === 'kept' ? 'now()' : `now() - interval '9 days'`
  return `INSERT INTO ${schema}.records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
      request_fingerprint, attempt, on_lease_over, recovery_point, response_status_code, response_headers, response_body,
      response_schema_version, evidence, created_at, last_run_at, expires_at, retention_ms, tombstone_ms)
    SELECT ${schema}.digest('old', key), 'old', key, 1, 1, 'c', status, 'payments.create',
      'sha256-v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 1, 'doubt', 'finished',
      CASE status WHEN 'completed' THEN 201 END, CASE status WHEN 'completed' THEN '[["content-type","application/json"]]' END,
      CASE status WHEN 'completed' THEN convert_to(repeat('x', 200), 'UTF8') END,
      CASE status WHEN 'completed' THEN 1 END, '[]', at, at, at + interval '1 day', 86400000,
      CASE status WHEN 'completed' THEN 30 ELSE 1 END * 86400000::bigint
    FROM (SELECT 'old-' || i AS key, ${status} AS status, ${at} AS at FROM generate_series(${from}, ${to}) i) r`
}
