import type { Fingerprint } from '../../engine/fingerprint/fingerprint.js'
import type { IdempotencyKey } from '../../engine/key.js'
import type { Answer, OnLeaseOver, StoredAnswer, StoredRecord } from '../../engine/record.js'
import type { Scope } from '../../engine/scope.js'
import type { State } from '../../engine/state.js'
import { invariant } from '../../kernel/errors.js'

/**
 * The one place that knows how a record lies in a row of an SQL database. Columns have the names of the published
 * designs, times are milliseconds.
 */

/** What a driver is given and gives. */
export type SqlValue = string | number | Uint8Array | null

/** What `expires_at` holds for a record that is kept for ever. */
export const forever = Number.MAX_SAFE_INTEGER

/** What a record puts into each column, save for its id and its name, which never change. */
export const columns = {
  generation: (record) => record.generation,
  fence: (record) => record.fence,
  claim_id: (record) => record.claimId,
  status: (record) => record.state,
  operation: (record) => record.operation,
  request_fingerprint: (record) => record.fingerprint,
  attempt: (record) => record.attempt,
  locked_until: (record) => record.leaseUntil ?? null,
  on_lease_over: (record) => record.onLeaseOver,
  recovery_point: (record) => record.recoveryPoint,
  progress: (record) => record.progress ?? null,
  is_begun: (record) => Number(record.isBegun),
  has_effects: (record) => Number(record.hasEffects),
  response_status_code: (record) => record.answer?.status ?? null,
  response_headers: (record) => (record.answer === undefined ? null : JSON.stringify(record.answer.headers)),
  response_body: (record) => (record.answer?.kind === 'kept' ? record.answer.body : null),
  response_withheld_bytes: (record) => (record.answer?.kind === 'withheld' ? record.answer.bytes : null),
  response_schema_version: (record) => record.answerVersion ?? null,
  last_error_code: (record) => record.errorCode ?? null,
  reconcile_after: (record) => record.reconcileAfter ?? null,
  looks: (record) => record.looks,
  doubted_at: (record) => record.doubtedAt ?? null,
  evidence: (record) => JSON.stringify(record.evidence),
  traceparent: (record) => record.trace ?? null,
  created_at: (record) => record.createdAt,
  last_run_at: (record) => record.lastRunAt,
  completed_at: (record) => record.completedAt ?? null,
  expires_at: (record) => record.expiresAt ?? forever,
  retention_ms: (record) => record.retentionMs ?? null,
  tombstone_ms: (record) => record.tombstoneMs,
} as const satisfies Readonly<Record<string, (record: StoredRecord) => SqlValue>>

/** A row as the stores select it. */
export interface Row {
  readonly id: number
  readonly scope_id: Scope
  readonly idempotency_key: IdempotencyKey
  readonly generation: number
  readonly fence: number
  readonly claim_id: string
  readonly status: State
  readonly operation: string
  readonly request_fingerprint: Fingerprint
  readonly attempt: number
  readonly locked_until: number | null
  readonly on_lease_over: OnLeaseOver
  readonly recovery_point: string
  readonly progress: Uint8Array | null
  readonly is_begun: number
  readonly has_effects: number
  readonly response_status_code: number | null
  readonly response_headers: string | null
  readonly response_body: Uint8Array | null
  readonly response_withheld_bytes: number | null
  readonly response_schema_version: number | null
  readonly last_error_code: string | null
  readonly reconcile_after: number | null
  readonly looks: number
  readonly doubted_at: number | null
  readonly evidence: string
  readonly traceparent: string | null
  readonly created_at: number
  readonly last_run_at: number
  readonly completed_at: number | null
  readonly expires_at: number
  readonly retention_ms: number | null
  readonly tombstone_ms: number
}

export function recordOf(row: Row): StoredRecord {
  return {
    id: row.id,
    scope: row.scope_id,
    key: row.idempotency_key,
    generation: row.generation,
    fence: row.fence,
    claimId: row.claim_id,
    state: row.status,
    operation: row.operation,
    fingerprint: row.request_fingerprint,
    attempt: row.attempt,
    leaseUntil: row.locked_until ?? undefined,
    onLeaseOver: row.on_lease_over,
    recoveryPoint: row.recovery_point,
    progress: row.progress ?? undefined,
    isBegun: row.is_begun === 1,
    hasEffects: row.has_effects === 1,
    answer: answerOf(row),
    answerVersion: row.response_schema_version ?? undefined,
    errorCode: row.last_error_code ?? undefined,
    reconcileAfter: row.reconcile_after ?? undefined,
    looks: row.looks,
    doubtedAt: row.doubted_at ?? undefined,
    evidence: JSON.parse(row.evidence) as StoredRecord['evidence'],
    trace: row.traceparent ?? undefined,
    createdAt: row.created_at,
    lastRunAt: row.last_run_at,
    completedAt: row.completed_at ?? undefined,
    expiresAt: row.expires_at >= forever ? undefined : row.expires_at,
    retentionMs: row.retention_ms ?? undefined,
    tombstoneMs: row.tombstone_ms,
  }
}

/** The columns in which two records differ, and their new values. A new record differs wherever it is not empty. */
export function differences(
  current: StoredRecord | undefined,
  next: StoredRecord,
): { readonly names: readonly string[]; readonly values: readonly SqlValue[] } {
  const names: string[] = []
  const values: SqlValue[] = []
  for (const [name, read] of entries) {
    const value = read(next)
    if (value === (current === undefined ? null : read(current))) continue
    names.push(name)
    values.push(value)
  }
  return { names, values }
}

const entries: readonly (readonly [string, (record: StoredRecord) => SqlValue])[] = Object.entries(columns)

function answerOf(row: Row): StoredAnswer | undefined {
  if (row.response_status_code === null) return undefined
  const status = row.response_status_code
  const headers = JSON.parse(row.response_headers ?? '[]') as Answer['headers']
  if (row.response_withheld_bytes !== null)
    return { kind: 'withheld', status, headers, bytes: row.response_withheld_bytes }
  invariant(row.response_body !== null, 'an answer that was kept has its body')
  return { kind: 'kept', status, headers, body: row.response_body }
}
