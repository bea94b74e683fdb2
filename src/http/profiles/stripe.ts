import type { ErrorCode } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import type { Profile } from '../profile.js'

const invalidRequest = 'invalid_request_error'
const shouldRetry = 'Stripe-Should-Retry'

/**
 * What Stripe publishes for its first API version: whatever a request that ran was answered with is its answer for a
 * day, a 500 included. A handler that threw has given no answer: it was interrupted, and a retry goes on. Its messages
 * quote the key; ours do not, since keys belong in no log.
 */
export const stripe: Profile = {
  name: 'stripe',
  docs: '/idempotency',
  header: 'idempotency-key',
  key: { syntax: 'raw', maxLength: limits.keyLength },
  defaults: { retention: '24h', onError: 'store_answers' },
  statuses: { idempotency_key_reused_with_different_payload: 400 },
  problem: ({ code, status, detail, retryable }) => ({
    mediaType: 'application/json',
    body: { error: published[code] ?? { type: status < 500 ? invalidRequest : 'api_error', code, message: detail } },
    // Its client libraries go by this before they go by the status.
    headers: [[shouldRetry, String(retryable)]],
  }),
  replay: { kind: 'as_stored' },
  // A 500 that is replayed will be replayed the next time too.
  replayed: [
    ['Idempotent-Replayed', 'true'],
    [shouldRetry, 'false'],
  ],
}

/** What it has words of its own for. */
const published: Partial<Record<ErrorCode, object>> = {
  idempotency_key_reused_with_different_payload: {
    type: 'idempotency_error',
    message:
      'Keys for idempotent requests can only be used with the same parameters they were first used with. Try using another key if you meant to execute a different request.',
  },
  idempotency_key_in_progress: {
    type: invalidRequest,
    code: 'idempotency_key_in_use',
    message:
      'There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through). Please try again later.',
  },
}
