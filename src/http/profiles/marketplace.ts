import type { ErrorCode } from '../../kernel/errors.js'
import type { Profile } from '../profile.js'

/**
 * A marketplace of orders and withdrawals: every conflict about a key is a 409, and its code says which. A UUID is
 * recommended and not demanded; a route that demands it says `keyRules: { format: keyFormats.uuid }`. How long an
 * answer is kept differs from resource to resource, so each route says it.
 */
export const marketplace: Profile = {
  name: 'marketplace',
  docs: '/idempotency',
  header: 'idempotency-key',
  key: { syntax: 'lenient' },
  defaults: {},
  statuses: { idempotency_key_reused_with_different_payload: 409 },
  problem: ({ code, detail }) => ({
    mediaType: 'application/json',
    body: { error: published[code] ?? { code: code.toUpperCase(), message: detail } },
  }),
  replay: { kind: 'as_stored' },
  replayed: [['Idempotent-Replayed', 'true']],
}

/** What it has words of its own for. Other errors follow their manner. */
const published: Partial<Record<ErrorCode, object>> = {
  idempotency_key_reused_with_different_payload: {
    code: 'IDEMPOTENCY_KEY_REUSED',
    message: 'This idempotency key was used with a different request body',
  },
  idempotency_key_in_progress: {
    code: 'IDEMPOTENCY_KEY_IN_PROGRESS',
    message: 'A request with this key is still being processed',
  },
}
