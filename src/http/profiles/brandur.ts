import type { Profile } from '../profile.js'
import { ietf } from './ietf.js'

/**
 * The keys of Brandur Leach's tables in Postgres: up to 100 characters, locked for 90 seconds, reaped after a day. There
 * a lock that went stale is simply taken over, which is safe between phases; a route that has them, or that may run
 * again for another reason, says `onCrash: 'retry'`.
 */
export const brandur: Profile = {
  ...ietf,
  name: 'brandur',
  key: { syntax: 'raw', maxLength: 100 },
  defaults: { retention: '24h', lease: '90s' },
}
