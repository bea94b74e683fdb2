import type { ErrorCode, Fault } from '../kernel/errors.js'

/** What a client is told by status. What is missing here is a fault on this side. */
const statuses: Partial<Record<ErrorCode, number>> = {
  idempotency_key_missing: 400,
  idempotency_key_malformed: 400,
  body_not_canonical: 400,
  fingerprint_header_missing: 400,
  body_encoding_invalid: 400,
  first_sent_invalid: 400,
  webhook_malformed: 400,
  webhook_signature_invalid: 401,
  webhook_timestamp_refused: 401,
  replay_forbidden: 403,
  idempotency_key_unknown: 404,
  idempotency_key_in_progress: 409,
  outcome_unknown: 409,
  answer_withheld: 409,
  idempotency_key_expired: 410,
  request_not_fresh: 412,
  body_too_large: 413,
  body_encoding_unsupported: 415,
  idempotency_key_reused_with_different_payload: 422,
  waiting_room_full: 429,
  quota_exceeded: 429,
  rate_exceeded: 429,
  call_timeout: 504,
}

/** The status of an error: the table's, or else 500 for a bug and 503 for what may pass. */
export function statusOf(code: ErrorCode, fault: Fault): number {
  return statuses[code] ?? (fault === 'developer' || fault === 'handler' ? 500 : 503)
}

/** Whether a status says that the fault is on this side. */
export function isOurs(status: number): boolean {
  return status >= 500
}

/** A route that is only there to be read was asked for something else. */
export const notAllowedStatus = 405

/** A duplicate of a request that still runs was taken note of. */
export const acceptedStatus = 202
