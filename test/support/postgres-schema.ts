import { randomUUID } from 'node:crypto'
import { migratePostgres, type PostgresStore, type PostgresStoreOptions, postgresStore } from 'hapax/postgres'
import type pg from 'pg'
import { onTestFinished } from 'vitest'
import { poolOn } from './postgres-pool.js'

/** A schema of its own, what looks at it from outside, and nodes that work on it. */
export interface FreshSchema {
  readonly url: string
  readonly schema: string
  /** The owner's connections, which belong to no node. */
  readonly owner: pg.Pool
  /** Another node, with connections of its own that carry the schema's name. */
  node(options?: NodeOptions): PostgresNode
  /** Pins the clock of the schema, for all nodes. */
  setTime(ms: number): Promise<void>
  dispose(): Promise<void>
}

export type NodeOptions = Omit<PostgresStoreOptions<pg.Pool>, 'pool' | 'schema'>

export interface PostgresNode {
  readonly store: PostgresStore<pg.PoolClient>
  readonly pool: pg.Pool
}

export function freshName(): string {
  return `hapax_${randomUUID().replaceAll('-', '')}`
}

/** Connections that end with the test. */
export function connectionsOfTest(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = poolOn(url, { max: 4, ...options })
  onTestFinished(() => pool.end())
  return pool
}

/** The same database, as another role. */
export function asRole(url: string, role: string): string {
  const named = new URL(url)
  named.username = role
  return named.href
}

/** A migrated schema that goes with the test. */
export async function schemaOfTest(url: string): Promise<FreshSchema> {
  const fresh = await freshSchema(url)
  onTestFinished(() => fresh.dispose())
  return fresh
}

/** A migrated schema that stays until it is disposed of. */
export async function freshSchema(url: string): Promise<FreshSchema> {
  const { make, ...fresh } = plannedSchema(url)
  await make()
  return fresh
}

/** A schema that has a name already and is there once it is made. */
export function plannedSchema(url: string): FreshSchema & { make(): Promise<void> } {
  const schema = freshName()
  const owner = poolOn(url, { max: 6 })
  const pools: pg.Pool[] = []
  return {
    url,
    schema,
    owner,
    make: async () => void (await migratePostgres({ pool: owner, schema })),
    node(options = {}) {
      const pool = poolOn(url, { max: 4, application_name: schema })
      pools.push(pool)
      return { pool, store: postgresStore({ connection: 'direct', ...options, pool, schema }) }
    },
    setTime: async (ms) => void (await owner.query(pinnedClock(schema, ms))),
    async dispose() {
      for (const pool of pools) if (!pool.ended) await pool.end()
      await owner.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
      await owner.end()
    },
  }
}

/** Lets the clock of a schema stand still at this instant. */
export function pinnedClock(schema: string, ms: number): string {
  return `CREATE OR REPLACE FUNCTION ${schema}.clock() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT timestamptz 'epoch' + ${ms} * interval '1 millisecond' $$`
}

/** A table for the rows of an application. */
export interface Rides {
  readonly table: string
  names(): Promise<readonly string[]>
}

export async function ridesIn({ owner, schema }: Pick<FreshSchema, 'owner' | 'schema'>): Promise<Rides> {
  const table = `${schema}.rides`
  await owner.query(`CREATE TABLE ${table} (name text NOT NULL)`)
  return {
    table,
    async names() {
      const { rows } = await owner.query(`SELECT name FROM ${table} ORDER BY name`)
      return rows.map(({ name }) => name)
    },
  }
}

/** Rows by the thousand, in one statement. Every expression may use `i`, the number of the row. */
export interface Rows {
  readonly count: number
  readonly key: string
  readonly scope?: string
  readonly status: string
  readonly lockedUntil?: string
  readonly expiresAt?: string
  readonly tombstoneMs?: string
}

export async function fill({ owner, schema }: FreshSchema, rows: Rows): Promise<void> {
  const { count, key, scope = `'acme'`, status, tombstoneMs = '86400000' } = rows
  const { lockedUntil = `now() + interval '1 hour'`, expiresAt = `now() + interval '1 day'` } = rows
  await owner.query(
    `INSERT INTO ${schema}.records (digest, scope_id, idempotency_key, generation, fence, claim_id, status, operation,
      request_fingerprint, attempt, locked_until, on_lease_over, recovery_point, response_status_code, response_headers,
      response_body, response_schema_version, evidence, created_at, last_run_at, expires_at, retention_ms, tombstone_ms)
    SELECT ${schema}.digest(scope, key), scope, key, 1, 1, gen_random_uuid(), status, 'payments.create', '1.test:aa', 1,
      CASE status WHEN 'in_progress' THEN ${lockedUntil} END, 'doubt',
      CASE status WHEN 'completed' THEN 'finished' ELSE 'started' END,
      CASE status WHEN 'completed' THEN 201 END, CASE status WHEN 'completed' THEN '[]' END,
      CASE status WHEN 'completed' THEN convert_to('{"id":' || i || '}', 'UTF8') END,
      CASE status WHEN 'completed' THEN 1 END, '[]', now(), now(), ${expiresAt}, 86400000, ${tombstoneMs}
    FROM (SELECT i, (${scope})::text AS scope, (${key})::text AS key, (${status})::text AS status
      FROM generate_series(1, $1::int) i) r`,
    [count],
  )
}

/** An outbox after a while: nearly all of it is done, a little is due, leased, in doubt or dead, and a tenth has an order. */
export async function fillEffects({ owner, schema }: FreshSchema, count: number): Promise<void> {
  await owner.query(
    `WITH e AS (INSERT INTO ${schema}.effects (record_id, scope_id, operation, generation, phase, sequence, kind, payload,
      downstream_key, ordering, created_at)
    SELECT i, 'tenant-' || i % 500, 'rides.create', 1, 'finished', 1, 'kind-' || i % 5, convert_to('{"id":' || i || '}', 'UTF8'),
      'down-' || i, CASE WHEN i % 10 = 0 THEN 'ride ' || i % 5000 END, now()
    FROM generate_series(1, $1::int) i RETURNING id, record_id, scope_id, kind, ordering)
    INSERT INTO ${schema}.effect_states (effect_id, record_id, scope_id, kind, ordering, state, due_at, leased_until, on_lease_over,
      reconcile_after, finished_at, fence)
    SELECT id, record_id, scope_id, kind, scope_id || ' ' || ordering, state, now() - (id % 1000) * interval '1 second',
      CASE state WHEN 'leased' THEN now() + (id % 60 - 10) * interval '1 second' END,
      CASE WHEN id % 2 = 0 THEN 'resume' ELSE 'doubt' END,
      CASE state WHEN 'unknown' THEN now() + (id % 60 - 10) * interval '1 second' END,
      CASE state WHEN 'done' THEN now() - (id % 100) * interval '1 hour' END, 1
    FROM (SELECT *, CASE WHEN id % 100 < 90 THEN 'done' WHEN id % 100 < 96 THEN 'ready' WHEN id % 100 < 98 THEN 'leased'
      WHEN id % 100 < 99 THEN 'unknown' ELSE 'dead' END AS state FROM e) e`,
    [count],
  )
}
