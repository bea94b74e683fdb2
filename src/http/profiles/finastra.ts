import type { Profile } from '../profile.js'
import { ietf } from './ietf.js'

/**
 * The API standards of Finastra: short keys, every answer kept for a day whether it is a success or a failure, and a
 * repeat that tells how the resource is now. They publish no shape for errors, so problems are those of the default.
 */
export const finastra: Profile = {
  ...ietf,
  name: 'finastra',
  key: { syntax: 'lenient', maxLength: 40 },
  defaults: { retention: '24h', onError: 'store' },
  replay: { kind: 'current_state', status: 201 },
}
