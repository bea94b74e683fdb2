import { catalogue, type ErrorCode } from '../kernel/errors.js'
import type { PublishedOptions, PublishedRoute, RouteContract } from './contract-data.js'
import { statusIn } from './problem.js'

/** The status of every error that a route can end in. */
export function statusesOf(route: PublishedRoute, options: PublishedOptions): RouteContract['statuses'] {
  const codes = (Object.keys(catalogue) as ErrorCode[]).filter((code) => isMet(code, route, options))
  return Object.fromEntries(codes.map((code) => [code, statusIn(route.profile, code)]))
}

/**
 * A bug on this side has one status, whatever its code; some codes need an option that the route does not have; and a store
 * that is of no use at all is `idempotency_store_unavailable` to a client, whatever an operator is told of it. How a store
 * failed below a handler keeps its name, if a retry may help. Whether an engine has quotas and rates, a route does not know.
 */
function isMet(code: ErrorCode, route: PublishedRoute, { fingerprint }: PublishedOptions): boolean {
  const { policy, key, profile, authorizeReplay } = route
  switch (code) {
    case 'idempotency_key_missing':
      return key === 'required'
    case 'idempotency_key_expired':
      return policy.onExpired === 'refuse'
    case 'waiting_room_full':
      return policy.concurrency === 'wait'
    case 'body_not_canonical':
      return fingerprint?.strict === true
    case 'fingerprint_header_missing':
      return fingerprint?.strategy?.kind === 'header'
    case 'request_not_fresh':
      return policy.freshness !== undefined
    case 'first_sent_invalid':
      return policy.freshness?.by === 'header'
    case 'replay_forbidden':
    case 'replay_undecided':
      return authorizeReplay !== undefined
    case 'idempotency_key_unknown':
    case 'webhook_signature_invalid':
    case 'webhook_timestamp_refused':
    case 'webhook_malformed':
    case 'store_version_unsupported':
    case 'store_rights_missing':
    case 'store_not_durable':
      return false
    default:
      return catalogue[code].fault !== 'developer' || statusIn(profile, code) < 500
  }
}
