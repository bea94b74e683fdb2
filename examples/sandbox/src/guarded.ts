import type { IncomingMessage } from 'node:http'
import { catalogue, type Engine, type HapaxError, isHapaxError, type Policy, parseKeyHeader, type Work } from 'hapax'
import { Problem } from './problem.js'
import type { Reply } from './reply.js'

/**
 * The guarded part of a request, until Hapax brings a door of its own for HTTP: the key comes from its header, the
 * handler runs once, a retry gets the same reply, and whatever else the key holds becomes a problem.
 */
export interface Guarded<Tx> {
  readonly hapax: Engine<Tx>
  readonly policy: Policy<'reject'>
  readonly tenant: string
  readonly request: IncomingMessage
  /** The whole body as it came: with another one, the key belongs to another request. */
  readonly input: Uint8Array
}

/** Call it after authentication and validation, so that a request which is refused there reserves nothing. */
export async function guarded<Tx>(
  { hapax, policy, tenant, request, input }: Guarded<Tx>,
  handler: (work: Work<Tx>) => Promise<Reply>,
): Promise<Reply> {
  try {
    // Each header line apart: Node joins what it finds twice, and two lines must not pass for one key.
    const key = parseKeyHeader(request.headersDistinct['idempotency-key'])
    const { value, replayed } = await hapax.run({ scope: tenant, key, input, policy }, handler)
    return replayed ? { ...value, headers: { ...value.headers, ...replayHeaders } } : value
  } catch (error) {
    throw isHapaxError(error) ? problemOf(error) : error
  }
}

const again = 'Send the same request with the same key again: it is safe to retry.'

const replayHeaders = { 'Idempotent-Replayed': 'true', 'Cache-Control': 'no-store' }

/** What a client can do something about. All else that Hapax throws is a fault on this side. */
const statuses: Partial<Record<HapaxError['code'], number>> = {
  idempotency_key_missing: 400,
  idempotency_key_malformed: 400,
  input_not_json: 400,
  idempotency_key_in_progress: 409,
  outcome_unknown: 409,
  idempotency_key_reused_with_different_payload: 422,
}

function problemOf(error: HapaxError): Problem {
  const { code, fault, retryable, retryAfterMs = 1_000 } = error
  const status = statuses[code] ?? (fault === 'developer' ? 500 : 503)
  // What went wrong inside is for the log, which is given the cause.
  const detail =
    status < 500
      ? error.message
      : retryable
        ? again
        : 'This has to be mended on our side; a retry does not help before.'
  const retryAfter = retryable ? Math.max(1, Math.ceil(retryAfterMs / 1_000)) : undefined
  return new Problem({ status, code, title: catalogue[code].summary, detail, retryable, retryAfter }, error)
}
