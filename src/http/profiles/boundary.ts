import type { Profile } from '../profile.js'

/**
 * The key as the boundary around an uncertain call: no short keys, a lease of five minutes, an answer for two days, and
 * a failure that nobody has explained is a doubt and never a reason to run again. Doubt is trouble on this side and no
 * conflict between requests, so it is told as such: to the first caller, and to retries until somebody has settled it.
 */
export const boundary: Profile = {
  name: 'boundary',
  docs: '/idempotency',
  header: 'idempotency-key',
  key: { syntax: 'lenient', minLength: 16 },
  defaults: { retention: '48h', lease: '5m', onError: 'unknown' },
  statuses: { outcome_unknown: 503 },
  problem: ({ code }) => ({ mediaType: 'application/json', body: { code } }),
  replay: { kind: 'as_stored' },
  replayed: [['Idempotent-Replayed', 'true']],
}
