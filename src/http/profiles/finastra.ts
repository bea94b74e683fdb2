import { isHapaxError } from '../../kernel/errors.js'
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
  defaults: { retention: '24h', onError: (failure) => (isUndone(failure) ? 'retry' : 'store') },
  replay: { kind: 'current_state', status: 201 },
}

/** What we threw at the handler and ask to be tried again, such as a transaction that was rolled back, is no answer. */
function isUndone(failure: unknown): boolean {
  return isHapaxError(failure) && failure.retryable
}
