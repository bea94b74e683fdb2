import type { ListQuery } from '../../engine/store.js'
import { columns, forever } from '../sql/row.js'

/**
 * Every statement on the records, for one schema. None is named and none leaves anything behind in its session, so
 * that all of them pass through a pooler in transaction mode. Times leave and enter as milliseconds; only `clock()`
 * says what is over.
 */
export type Queries = ReturnType<typeof queriesFor>

const times = new Set(['locked_until', 'reconcile_after', 'created_at', 'last_run_at', 'completed_at', 'expires_at'])
const counts = new Set(['generation', 'fence', 'attempt', 'response_withheld_bytes', 'retention_ms', 'tombstone_ms'])

const stored = Object.keys(columns)

/** A column as it is read: as text or a double, which every driver gives alike. */
function read(name: string): string {
  if (times.has(name)) return `(extract(epoch FROM ${name}) * 1000)::float8 AS ${name}`
  return counts.has(name) ? `${name}::float8 AS ${name}` : name
}

const whole = [
  'id::float8 AS id',
  'revision::text AS revision',
  'scope_id',
  'idempotency_key',
  ...stored.map(read),
].join(', ')

/** The value of a column as it is written: parameter `n`, in milliseconds where it is a time. */
function write(name: string, n: number): string {
  if (name === 'expires_at')
    return `CASE WHEN $${n}::bigint = ${forever} THEN 'infinity' ELSE ${instant(`$${n}::bigint`)} END`
  return times.has(name) ? instant(`$${n}::bigint`) : `$${n}`
}

function instant(ms: string): string {
  return `timestamptz 'epoch' + ${ms} * interval '1 millisecond'`
}

const retained = `CASE WHEN retention_ms IS NULL THEN 'infinity' ELSE t.now + retention_ms * interval '1 millisecond' END`

const expired = `(status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started'))`

const held = 'digest = $1 AND fence = $2 AND claim_id = $3 AND generation = $4'

export function queriesFor(schema: string) {
  const records = `${schema}.records`
  const now = `(SELECT ${schema}.clock() AS now) t`
  return {
    now: `SELECT (extract(epoch FROM ${schema}.clock()) * 1000)::float8 AS now`,

    /** A new key in one round trip; no row when the key is known. Nothing is looked up before. */
    insert: `INSERT INTO ${records}
      (digest, scope_id, idempotency_key, claim_id, operation, request_fingerprint, on_lease_over, retention_ms, tombstone_ms,
       locked_until, expires_at, generation, fence, attempt, status, recovery_point, evidence, created_at, last_run_at)
      SELECT $1, $2, $3, $4, $5, $6, $7, $8::bigint, $9::bigint,
        t.now + $10::bigint * interval '1 millisecond',
        CASE WHEN $8::bigint IS NULL THEN 'infinity' ELSE t.now + $8::bigint * interval '1 millisecond' END,
        1, 1, 1, 'in_progress', 'started', '[]', t.now, t.now
      FROM ${now}
      ON CONFLICT (digest) DO NOTHING
      RETURNING ${whole}`,

    find: `SELECT ${whole}, (extract(epoch FROM ${schema}.clock()) * 1000)::float8 AS now FROM ${records} WHERE digest = $1`,
    lock: `SELECT ${whole}, (extract(epoch FROM ${schema}.clock()) * 1000)::float8 AS now FROM ${records} WHERE digest = $1 FOR UPDATE`,
    /** Writes only if the row is still the one that was judged. */
    update: (names: readonly string[]) =>
      `UPDATE ${records} SET ${names.map((name, index) => `${name} = ${write(name, index + 3)}`).join(', ')},
        revision = revision + 1
      WHERE digest = $1 AND revision = $2::bigint RETURNING 1 AS done`,
    remove: `DELETE FROM ${records} WHERE digest = $1 AND revision = $2::bigint RETURNING 1 AS done`,

    renew: `UPDATE ${records} SET locked_until = t.now + $5::bigint * interval '1 millisecond', revision = revision + 1
      FROM ${now} WHERE ${held} AND status = 'in_progress' RETURNING 1 AS done`,
    complete: `UPDATE ${records} SET status = 'completed', recovery_point = 'finished', progress = NULL, locked_until = NULL,
        reconcile_after = NULL, last_error_code = NULL, completed_at = t.now, expires_at = ${retained},
        response_status_code = $5, response_headers = $6, response_body = $7, response_withheld_bytes = $8::bigint,
        response_schema_version = $9, revision = revision + 1
      FROM ${now} WHERE ${held} AND status IN ('in_progress', 'unknown')
      RETURNING (extract(epoch FROM expires_at) * 1000)::float8 AS expires_at`,

    sweep: `UPDATE ${records} SET status = 'unknown', locked_until = NULL, reconcile_after = t.now,
        last_error_code = 'in_progress_lock_expired', revision = revision + 1
      FROM ${now} WHERE id IN (
        SELECT id FROM ${records} WHERE status = 'in_progress' AND on_lease_over = 'doubt' AND locked_until <= ${schema}.clock()
        ORDER BY locked_until LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING ${whole}`,
    bury: `UPDATE ${records} SET status = 'expired', response_status_code = NULL, response_headers = NULL, response_body = NULL,
        response_withheld_bytes = NULL, response_schema_version = NULL, progress = NULL, revision = revision + 1
      WHERE id IN (
        SELECT id FROM ${records} WHERE ${expired} AND expires_at <= ${schema}.clock()
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1 AS done`,
    forget: `DELETE FROM ${records} WHERE id IN (
        SELECT id FROM ${records} WHERE status = 'expired' AND expires_at <= ${schema}.clock()
          AND expires_at + tombstone_ms * interval '1 millisecond' <= ${schema}.clock()
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1 AS done`,

    list: ({ scope, state }: Pick<ListQuery, 'scope' | 'state'>) =>
      `SELECT ${whole} FROM ${records} WHERE id > $1::bigint
        ${scope === undefined ? '' : 'AND scope_id = $3'} ${state === undefined ? '' : `AND status = $${scope === undefined ? 3 : 4}`}
      ORDER BY id LIMIT $2`,
  }
}
