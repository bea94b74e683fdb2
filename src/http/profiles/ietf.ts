import type { Profile } from '../profile.js'

/** The IETF draft, with problem details of RFC 9457. The default. */
export const ietf: Profile = {
  name: 'ietf',
  docs: '/idempotency',
  header: 'idempotency-key',
  key: { syntax: 'lenient' },
  defaults: {},
  statuses: {},
  problem: ({ code, type, status, title, detail, retryable, retryAfterSeconds }) => ({
    mediaType: 'application/problem+json',
    body: {
      type,
      title,
      status,
      detail,
      code,
      retryable,
      retry_after: retryAfterSeconds,
    },
  }),
  replay: { kind: 'as_stored' },
  replayed: [['Idempotent-Replayed', 'true']],
}
