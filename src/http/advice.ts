import { catalogue, type ErrorCode } from '../kernel/errors.js'

/** What a client is to do about an error of ours. Where nothing is said, it is trouble on the side of the API. */
const advice: Partial<Record<ErrorCode, string>> = {
  idempotency_key_missing: 'Send a key: a UUID, made once per operation, before the first attempt.',
  idempotency_key_malformed:
    'Send one key, in one header line, in the syntax and length that the policy asks for. A UUID is a good key.',
  idempotency_key_reused_with_different_payload:
    'To retry, send exactly the first request again. For a new request, make a new key.',
  idempotency_key_in_progress: 'Wait for as long as Retry-After says, then send the same request with the same key.',
  idempotency_key_unknown:
    'Check that it is the key and the account of the request. A key that was never seen, or has expired, may be sent with its request.',
  request_not_fresh: 'Look at the resource first: the request may have run before. For a new request, make a new key.',
  first_sent_invalid: 'Say when the request was first sent, in the way that the policy asks for, with every attempt.',
  replay_forbidden: 'The request ran once, but you may not see its answer any more. Ask whoever gives you rights.',
  quota_exceeded: 'Wait for as long as Retry-After says. Retries of keys that are known are not held up.',
  rate_exceeded: 'Wait for as long as Retry-After says. To follow a resource, read the resource and not its key.',
  body_not_canonical: 'Send well-formed JSON with each member once.',
  body_too_large: 'Send a shorter body.',
  body_encoding_unsupported: 'Send the body as gzip, deflate or br, or without Content-Encoding.',
  body_encoding_invalid: 'Send the body anew, or without Content-Encoding.',
  webhook_signature_invalid:
    'Sign the bytes that are sent, with the secret of this endpoint, and send them as they are.',
  webhook_timestamp_refused: 'Sign every delivery of an event anew, and set your clock right.',
  webhook_malformed:
    'Send one event as JSON, with an id of printable ASCII characters that stays the same on every delivery.',
  idempotency_key_expired: 'Look at the resource first: the first request did run. For a new request, make a new key.',
  outcome_unknown:
    'Wait for as long as Retry-After says and ask again with the same key. Never send the request under a new key: it may have run.',
  answer_withheld: 'The request ran once. Read the resource, and do not send the request again under a new key.',
  answer_not_stored: 'The request ran. Send it again with the same key: nothing runs twice.',
  claim_lost: 'Send the same request with the same key again to get its answer.',
  fingerprint_header_missing: 'Send the header that the policy names with every attempt.',
  waiting_room_full: 'Wait for as long as Retry-After says, then send the same request with the same key.',
  handler_failed:
    'The request failed, and the same key fails the same way. Look at the resource, then send a new request under a new key.',
}

export function adviceOn(code: ErrorCode): string {
  return advice[code] ?? (catalogue[code].retryable ? again : ours)
}

/** What problems from 500 on say too, whatever their code. */
export const again = 'Send the same request with the same key again: it is safe to retry.'
export const ours = 'This has to be mended on our side; a retry does not help before.'
