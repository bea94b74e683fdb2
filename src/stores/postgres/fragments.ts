import { milliseconds } from './columns.js'

/**
 * The parts of the statements that are the same for one record and for many. What is asked for is `$1`, `$2` … in the
 * one case and a column `a1`, `a2` … in the other; `t.now` is the store's time.
 */
export type Argument = (n: number) => string

export const parameter: Argument = (n) => `$${n}`
export const column: Argument = (n) => `a${n}`

/** Digest, fence, claim id and generation: whoever is named here still holds the record. */
export function held(a: Argument): string {
  return `digest = ${a(1)} AND fence = ${a(2)} AND claim_id = ${a(3)} AND generation = ${a(4)}`
}

/** Renewals aside, a row says in which transaction it was written last: how the fate of a lost COMMIT is told. */
export const moved = 'revision = revision + 1, committed_in = pg_current_xact_id()'

export const reservedColumns = `digest, scope_id, idempotency_key, claim_id, operation, request_fingerprint, on_lease_over,
  retention_ms, tombstone_ms, locked_until, expires_at, generation, fence, attempt, status, recovery_point, evidence,
  created_at, last_run_at, progress, traceparent`

export function reserved(a: Argument): string {
  return `${a(1)}, ${a(2)}, ${a(3)}, ${a(4)}, ${a(5)}, ${a(6)}, ${a(7)}, ${a(8)}::bigint, ${a(9)}::bigint,
    ${later(`${a(10)}::bigint`)}, ${retained(`${a(8)}::bigint`)}, 1, 1, 1, 'in_progress', 'started', '[]', t.now, t.now, ${a(11)}, ${a(12)}`
}

export function renewed(a: Argument): string {
  return `locked_until = ${later(`${a(5)}::bigint`)}, revision = revision + 1`
}

export function completed(a: Argument): string {
  return `status = 'completed', recovery_point = 'finished', progress = NULL, locked_until = NULL, reconcile_after = NULL,
    last_error_code = NULL, is_begun = 0, looks = 0, doubted_at = NULL, completed_at = t.now, expires_at = ${retained('retention_ms')},
    response_status_code = ${a(5)}, response_headers = ${a(6)}, response_body = ${a(7)},
    response_withheld_bytes = ${a(8)}::bigint, response_schema_version = ${a(9)}, ${moved}`
}

export const completable = `status IN ('in_progress', 'unknown')`
export const renewable = `status = 'in_progress'`
export const expiresAt = milliseconds('expires_at')

function later(ms: string): string {
  return `t.now + ${ms} * interval '1 millisecond'`
}

export function retained(ms: string): string {
  return `CASE WHEN ${ms} IS NULL THEN 'infinity' ELSE ${later(ms)} END`
}

/** What has no doubt about it, and nothing half done. */
export const expirable = `(status = 'completed' OR (status = 'failed_retryable' AND recovery_point = 'started' AND is_begun = 0))`

/**
 * A claim that may run again once its lease is over, or a failure that left something behind. As one CASE, in the very words of
 * its index: of an OR the planner would look for each half in an index of its own, and read all of both.
 */
export const unfinished = `CASE status WHEN 'in_progress' THEN on_lease_over = 'resume'
    WHEN 'failed_retryable' THEN recovery_point <> 'started' OR is_begun = 1 ELSE false END`

/**
 * Whether a record `r` has effects that are not final: they are found by the record, and each state by its effect. The offsets
 * keep the planner from reading both tables through, to know it of all records at once.
 */
export function hasOpenEffects(schema: string): string {
  return `(r.has_effects = 1 AND EXISTS (SELECT FROM (SELECT id FROM ${schema}.effects WHERE record_id = r.id OFFSET 0) e,
    LATERAL (SELECT state FROM ${schema}.effect_states WHERE effect_id = e.id OFFSET 0) s WHERE s.state NOT IN ('done', 'discarded')))`
}
