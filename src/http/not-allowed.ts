import type { Reply } from './exchange.js'
import { notAllowedStatus } from './statuses.js'

/** What a request gets under a method that its route does not have. */
export function notAllowed(methods: Iterable<string>): Reply {
  return { status: notAllowedStatus, headers: [['Allow', [...methods].join(', ')]], body: new Uint8Array() }
}
