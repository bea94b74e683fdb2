import type { Profile } from '../profile.js'

/**
 * The key as the boundary around an uncertain call: no short keys, a lease of five minutes, an answer for two days, and
 * a failure that nobody has explained is a doubt and never a reason to run again.
 */
export const boundary: Profile = {
  name: 'boundary',
  header: 'idempotency-key',
  key: { syntax: 'lenient', minLength: 16 },
  defaults: { retention: '48h', lease: '5m', onError: 'unknown' },
  statuses: {},
  problem: ({ code }) => ({ mediaType: 'application/json', body: { code } }),
  replay: { kind: 'as_stored' },
  replayed: [['Idempotent-Replayed', 'true']],
}
