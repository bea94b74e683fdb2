import { catalogue, type ErrorCode, type HapaxError } from '../kernel/errors.js'

/** What goes back to the provider. */
export interface WebhookReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

export const processed: WebhookReply = ok({ status: 'ok' })
export const duplicate: WebhookReply = ok({ status: 'ok', duplicate: true })

/** What a provider did wrong. A timestamp that is off is a proof of identity that is off, as a signature is. */
const statuses: Partial<Record<ErrorCode, number>> = {
  webhook_signature_invalid: 401,
  webhook_timestamp_refused: 401,
  webhook_malformed: 400,
  body_too_large: 413,
}

/** The delivery was refused before anything was stored. */
export function refusal(error: HapaxError, docs: string | undefined): WebhookReply {
  return problem(error, statuses[error.code] ?? 400, error.message, docs)
}

/** The store did not do its part: the provider is to come back. */
export function unavailable(error: HapaxError, docs: string | undefined): WebhookReply {
  const seconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000))
  const detail = 'Deliver the same event again: it is processed once.'
  const reply = problem(error, 503, detail, docs, { retry_after: seconds })
  return { ...reply, headers: { ...reply.headers, 'Retry-After': String(seconds) } }
}

/** A bug on this side is nobody's business but ours. */
export const bug: WebhookReply = {
  status: 500,
  headers: { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' },
  body: JSON.stringify({ type: 'about:blank', title: 'Internal Server Error', status: 500 }),
}

function ok(body: object): WebhookReply {
  return { status: 200, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

function problem(
  { code, retryable }: HapaxError,
  status: number,
  detail: string,
  docs = '/idempotency',
  more: object = {},
): WebhookReply {
  const title = catalogue[code].summary
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      // A 401 has to say what would have been welcome.
      ...(status === 401 ? { 'WWW-Authenticate': 'Webhook-Signature' } : {}),
    },
    body: JSON.stringify({ type: `${docs}/errors#${code}`, title, status, detail, code, retryable, ...more }),
  }
}
