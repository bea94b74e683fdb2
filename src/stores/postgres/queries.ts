import type { ListQuery } from '../../engine/store.js'
import { milliseconds, selected, whole, written } from './columns.js'
import type { Query } from './connections.js'

/**
 * Every statement on the records, for one schema. None leaves anything behind in its session, so that all of them pass
 * through a pooler in transaction mode. Only `clock()` says what is over.
 */
export type Queries = ReturnType<typeof queriesFor>

const retained = `CASE WHEN retention_ms IS NULL THEN 'infinity' ELSE t.now + retention_ms * interval '1 millisecond' END`

const expired = `(status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started'))`

const held = 'digest = $1 AND fence = $2 AND claim_id = $3 AND generation = $4'

/** Renewals aside, a row says in which transaction it was written last: how the fate of a lost COMMIT is told. */
const moved = 'revision = revision + 1, committed_in = pg_current_xact_id()'

const done = ['done']

export function queriesFor(schema: string) {
  const records = `${schema}.records`
  const clock = `${schema}.clock()`
  const now = `(SELECT ${clock} AS now) t`
  const read = `SELECT ${selected(whole)}, committed_in, ${milliseconds(clock)} AS now FROM ${records} WHERE digest = $1`
  return {
    /**
     * A new key in one round trip; no row when the key is known. A key that is known draws no number from the sequence,
     * since that would be a write.
     */
    insert: {
      text: `INSERT INTO ${records}
      (digest, scope_id, idempotency_key, claim_id, operation, request_fingerprint, on_lease_over, retention_ms, tombstone_ms,
       locked_until, expires_at, generation, fence, attempt, status, recovery_point, evidence, created_at, last_run_at)
      SELECT $1, $2, $3, $4, $5, $6, $7, $8::bigint, $9::bigint,
        t.now + $10::bigint * interval '1 millisecond',
        CASE WHEN $8::bigint IS NULL THEN 'infinity' ELSE t.now + $8::bigint * interval '1 millisecond' END,
        1, 1, 1, 'in_progress', 'started', '[]', t.now, t.now
      FROM ${now} WHERE NOT EXISTS (SELECT FROM ${records} WHERE digest = $1)
      ON CONFLICT (digest) DO NOTHING
      RETURNING id, ${milliseconds('created_at')} AS now`,
      gives: ['id', 'now'],
    },

    find: { text: read, gives: [...whole, 'committed_in', 'now'] },
    lock: { text: `${read} FOR UPDATE`, gives: [...whole, 'committed_in', 'now'] },
    /** Writes only if the row is still the one that was judged. */
    update: (names: readonly string[]) => ({
      text: `UPDATE ${records} SET ${names.map((name, index) => `${name} = ${written(name, index + 3)}, `).join('')}${moved}
      WHERE digest = $1 AND revision = $2::bigint RETURNING committed_in`,
      gives: ['committed_in'],
    }),
    remove: { text: `DELETE FROM ${records} WHERE digest = $1 AND revision = $2::bigint RETURNING 1`, gives: done },

    renew: {
      text: `UPDATE ${records} SET locked_until = t.now + $5::bigint * interval '1 millisecond', revision = revision + 1
      FROM ${now} WHERE ${held} AND status = 'in_progress' RETURNING 1`,
      gives: done,
    },
    complete: {
      text: `UPDATE ${records} SET status = 'completed', recovery_point = 'finished', progress = NULL, locked_until = NULL,
        reconcile_after = NULL, last_error_code = NULL, completed_at = t.now, expires_at = ${retained},
        response_status_code = $5, response_headers = $6, response_body = $7, response_withheld_bytes = $8::bigint,
        response_schema_version = $9, ${moved}
      FROM ${now} WHERE ${held} AND status IN ('in_progress', 'unknown')
      RETURNING ${milliseconds('expires_at')}, committed_in`,
      gives: ['expires_at', 'committed_in'],
    },

    sweep: {
      text: `UPDATE ${records} SET status = 'unknown', locked_until = NULL, reconcile_after = t.now,
        last_error_code = 'in_progress_lock_expired', ${moved}
      FROM ${now} WHERE id IN (
        SELECT id FROM ${records} WHERE status = 'in_progress' AND on_lease_over = 'doubt' AND locked_until <= ${clock}
        ORDER BY locked_until LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING ${selected(whole)}`,
      gives: whole,
    },
    bury: {
      text: `UPDATE ${records} SET status = 'expired', response_status_code = NULL, response_headers = NULL, response_body = NULL,
        response_withheld_bytes = NULL, response_schema_version = NULL, progress = NULL, ${moved}
      WHERE id IN (
        SELECT id FROM ${records} WHERE ${expired} AND expires_at <= ${clock}
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1`,
      gives: done,
    },
    forget: {
      text: `DELETE FROM ${records} WHERE id IN (
        SELECT id FROM ${records} WHERE status = 'expired' AND expires_at <= ${clock}
          AND expires_at + tombstone_ms * interval '1 millisecond' <= ${clock}
        ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
      RETURNING 1`,
      gives: done,
    },

    list: ({ scope, state }: Pick<ListQuery, 'scope' | 'state'>) => ({
      text: `SELECT ${selected(whole)} FROM ${records} WHERE id > $1::bigint
        ${scope === undefined ? '' : 'AND scope_id = $3'} ${state === undefined ? '' : `AND status = $${scope === undefined ? 3 : 4}`}
      ORDER BY id LIMIT $2`,
      gives: whole,
    }),
  } as const satisfies Record<string, Query | ((given: never) => Query)>
}
