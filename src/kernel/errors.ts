/**
 * The one catalogue of errors. Each has a code that never changes, whose fault it is, and whether sending the
 * same request again can help. Recognise an error by its code, never by its message or its class.
 */

export type Fault = 'caller' | 'developer' | 'operator' | 'store' | 'handler'

interface CatalogueEntry {
  readonly fault: Fault
  readonly retryable: boolean
  readonly summary: string
}

const entry = (fault: Fault, retryable: boolean, summary: string): CatalogueEntry => ({ fault, retryable, summary })

export const catalogue = {
  idempotency_key_missing: entry('caller', false, 'The request carries no idempotency key where one is required.'),
  idempotency_key_malformed: entry('caller', false, 'The idempotency key breaks the syntax or the length in force.'),
  idempotency_key_reused_with_different_payload: entry('caller', false, 'The key was first used with another request.'),
  idempotency_key_in_progress: entry('caller', true, 'A request with this key is still running.'),
  idempotency_key_unknown: entry('caller', false, "There is no key like this here, or it is somebody else's."),
  request_not_fresh: entry(
    'caller',
    false,
    'The request was first made longer ago than answers are kept, so it may have been answered before.',
  ),
  first_sent_invalid: entry('caller', false, 'The request does not say when it was first sent.'),
  replay_forbidden: entry('caller', false, 'The caller may not see the answer to this request any more.'),
  replay_undecided: entry(
    'operator',
    true,
    'Whether the caller may see the answer to this request was not decided in time.',
  ),
  quota_exceeded: entry('caller', true, 'The tenant holds, or makes, as many keys as it may.'),
  rate_exceeded: entry('caller', true, 'The same was asked for too often.'),
  body_not_canonical: entry(
    'caller',
    false,
    'The request has no canonical form, so it could not be compared with a retry.',
  ),
  body_too_large: entry('caller', false, 'The body is longer than this route reads.'),
  body_encoding_unsupported: entry('caller', false, 'The body is encoded in a way that is not read here.'),
  body_encoding_invalid: entry('caller', false, 'The body is not what its Content-Encoding says.'),
  webhook_signature_invalid: entry(
    'caller',
    false,
    'The delivery is not signed, or its signature does not fit what was delivered.',
  ),
  webhook_timestamp_refused: entry('caller', false, 'The delivery was signed too long ago, or ahead of our time.'),
  webhook_malformed: entry('caller', false, 'The delivery is signed, but it is no event that can be read.'),
  idempotency_key_expired: entry('caller', false, 'The key was used before, its answer is past retention.'),
  outcome_unknown: entry(
    'store',
    true,
    'Nobody can know yet whether the request took effect; it is never run again blindly.',
  ),
  answer_withheld: entry('developer', false, 'The request ran, but its answer could not be kept.'),
  answer_not_stored: entry('store', true, 'The request ran, but its answer is not durable yet.'),
  claim_lost: entry('store', true, 'Another holder took over this key while the handler ran.'),
  idempotency_store_unavailable: entry('store', true, 'The store did not answer in time, so nothing was run.'),
  limiter_unavailable: entry(
    'operator',
    true,
    'A limiter, or the count of a quota, failed or did not answer in time, so nothing was run.',
  ),
  fingerprint_recipe_unknown: entry(
    'operator',
    true,
    'The key was written by a newer release; its fingerprint cannot be compared here.',
  ),
  fingerprint_header_missing: entry('caller', false, 'Requests are compared by a header that this one does not carry.'),
  waiting_room_full: entry('caller', true, 'Too many duplicates wait for a result in this process.'),
  engine_closed: entry('operator', true, 'The engine is shutting down and takes no new work.'),
  handler_failed: entry('handler', false, 'The handler failed, and its policy stores failures.'),
  scope_missing: entry('developer', false, 'A key without a scope would be shared by all callers.'),
  scope_invalid: entry('developer', false, 'A part of the scope is not usable.'),
  input_not_json: entry(
    'developer',
    false,
    'The value cannot be written as JSON, so it cannot be compared or replayed.',
  ),
  policy_invalid: entry('developer', false, 'The policy contradicts itself or breaks a limit.'),
  handler_missing: entry('developer', false, 'There is no function to run.'),
  already_answered: entry('developer', false, 'The handler gave a second answer to one request.'),
  transaction_unsupported: entry(
    'developer',
    false,
    'This store cannot commit business rows together with the record.',
  ),
  transaction_timeout: entry(
    'handler',
    true,
    'A transaction was held longer than the store allows and was rolled back.',
  ),
  transaction_ended: entry('developer', false, 'A statement was sent to a transaction that is already over.'),
  transaction_nested: entry(
    'developer',
    false,
    'A nested transaction was asked for where the tool cannot keep it apart from that of the caller.',
  ),
  phase_invalid: entry('developer', false, 'A phase has no usable name, or something in its options is wrong.'),
  phase_repeated: entry('developer', false, 'Two phases of one handler have the same name.'),
  phase_overlapping: entry('developer', false, 'A phase was begun while another one is under way.'),
  second_effect: entry('developer', false, 'A phase would have had a second effect on the outside.'),
  phase_unsupported: entry('developer', false, 'There are no phases where everything is one transaction.'),
  recovery_point_unknown: entry(
    'operator',
    false,
    'An earlier attempt stopped at a recovery point that this code does not come by.',
  ),
  progress_unreadable: entry('operator', true, 'What an earlier attempt left behind cannot be read here.'),
  progress_too_large: entry('developer', false, 'The input and the results of the phases are too large to be kept.'),
  call_timeout: entry('handler', true, 'A call to the outside did not end in time.'),
  effect_outside_phase: entry('developer', false, 'An effect was asked for outside of a phase that commits.'),
  effect_unknown: entry('developer', false, 'No effect is defined by this name.'),
  operation_unknown: entry('developer', false, 'No operation is defined by this name, or two are.'),
  store_unknown: entry('developer', false, 'No store is known by this name or address.'),
  store_unreachable: entry('operator', true, 'The database cannot be opened.'),
  store_busy: entry('store', true, 'The database was locked by another process for too long.'),
  store_failed: entry('store', true, 'The database refused an operation.'),
  store_schema_outdated: entry('operator', false, 'The database has an older schema than this release needs.'),
  store_schema_newer: entry('operator', false, 'The database has a newer schema than this release knows.'),
  store_version_unsupported: entry('operator', false, 'The database server is older than this release supports.'),
  store_rights_missing: entry('operator', false, 'The role of this connection may not do what serving needs.'),
  store_read_only: entry('operator', true, 'The database server takes no writes: a standby, or set to read-only.'),
  store_not_durable: entry('operator', false, 'The database server may forget what it has acknowledged.'),
} as const satisfies Readonly<Record<string, CatalogueEntry>>

export type ErrorCode = keyof typeof catalogue

export interface ErrorDetails {
  /** When trying again makes sense, in milliseconds from now. */
  readonly retryAfterMs?: number
  readonly cause?: unknown
}

/**
 * Every error that Hapax throws on purpose.
 *
 * @example
 * try { await hapax.run(request, handler) }
 * catch (error) { if (isHapaxError(error, 'outcome_unknown')) await tellTheOperator(error) }
 */
export class HapaxError extends Error {
  override readonly name = 'HapaxError'
  readonly code: ErrorCode
  readonly fault: Fault
  readonly retryable: boolean
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message?: string, details: ErrorDetails = {}) {
    super(message ?? catalogue[code].summary, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.fault = catalogue[code].fault
    this.retryable = catalogue[code].retryable
    this.retryAfterMs = details.retryAfterMs
  }
}

/** Recognises by code, so that an error from another copy of the library is recognised too. */
export function isHapaxError(error: unknown, code?: ErrorCode): error is HapaxError {
  if (!(error instanceof Error) || error.name !== 'HapaxError') return false
  const found = (error as { code?: unknown }).code
  return typeof found === 'string' && found in catalogue && (code === undefined || found === code)
}

/** A broken invariant is a bug in Hapax, not a situation to handle. */
export function invariant(holds: unknown, promise: string): asserts holds {
  if (!holds) throw new Error(`Hapax broke its own promise: ${promise}. Please report this.`)
}
