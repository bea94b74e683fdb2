import type { StoredEffect } from './effect-store.js'
import type { StoredRecord } from './record.js'

/**
 * What the audit log keeps of a record: how it stood, and nothing of what was sent or answered. It is shown as it was written,
 * since its hash is over that, and so it is written as operators are shown everything: in the names of the wire, with times as
 * texts.
 */
export function recordStanding(record: StoredRecord): object {
  return {
    id: record.id,
    operation: record.operation,
    generation: record.generation,
    state: record.state,
    fence: record.fence,
    attempt: record.attempt,
    recovery_point: record.recoveryPoint,
    error_code: record.errorCode,
    status: record.answer?.status,
    looks: record.looks,
    looked_at_next: timeText(record.reconcileAfter),
    expires_at: timeText(record.expiresAt),
    evidence: record.evidence.map(({ says, by, why, at }) => ({ says, by, why, at: timeText(at) })),
  }
}

/** The same of an effect. */
export function effectStanding(effect: StoredEffect): object {
  return {
    record_id: effect.recordId,
    operation: effect.operation,
    phase: effect.phase,
    kind: effect.kind,
    state: effect.state,
    fence: effect.fence,
    tries: effect.started,
    tries_ended: effect.finished,
    error_code: effect.errorCode,
    first_tried_at: timeText(effect.firstStartedAt),
    looks: effect.looks,
    looked_at_next: timeText(effect.reconcileAfter),
  }
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString()
}
