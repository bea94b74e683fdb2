import type { ClientErrorCode } from './errors.js'

/**
 * What a response means for the operation.
 * - `answer`: it is the caller's, whatever its status.
 * - `again`: nothing is decided; send the same once more.
 * - `running`: the same, and no sign of trouble: the server asks to be asked again.
 * - `doubt`: the server does not know whether it ran.
 * - `perhaps`: it may be that the first still runs, or it is the application's own answer; time tells.
 * - `refused`: it is about the key, and the same request can never do better.
 */
export type Verdict =
  | { readonly kind: 'answer' | 'again' | 'running' | 'doubt' | 'perhaps' }
  | { readonly kind: 'refused'; readonly code: ClientErrorCode }

/** By status, or by class. What is not named is an answer. */
export type RetryTable = Readonly<Record<number | `${number}xx`, 'again' | 'perhaps' | 'answer'>>

/** Servers say by status that they could not, and some by 409 that they still do. Those two of 5xx will not change. */
export const retryTable: RetryTable = {
  408: 'again',
  409: 'perhaps',
  425: 'again',
  429: 'again',
  '5xx': 'again',
  501: 'answer',
  505: 'answer',
}

/** What Hapax, and others who name it, say about a key, by the code of the problem: what follows, or the error it is. */
const codes: ReadonlyMap<string | undefined, 'running' | 'doubt' | ClientErrorCode> = new Map(
  Object.entries({
    idempotency_key_in_progress: 'running',
    idempotency_key_in_use: 'running',
    outcome_unknown: 'doubt',
    idempotency_key_reused_with_different_payload: 'key_reused',
    idempotency_key_reused: 'key_reused',
    idempotency_error: 'key_reused',
    idempotency_key_missing: 'key_rejected',
    idempotency_key_malformed: 'key_rejected',
    idempotency_key_expired: 'key_expired',
    request_not_fresh: 'key_expired',
    answer_withheld: 'answer_withheld',
  } as const),
)

/** Of a request with a key. `text` is the body of a response that is JSON. */
export function verdictOf(response: Response, text: string, table: RetryTable): Verdict {
  const { status, headers } = response
  // A stored answer stays what it is, a stored failure too.
  if (headers.get('idempotent-replayed') === 'true') return { kind: 'answer' }
  const { code, type, retryable } = status < 400 ? {} : problemOf(text)
  const known = codes.get(code) ?? codes.get(type)
  if (known === 'running' || known === 'doubt') return { kind: known }
  if (known !== undefined) return { kind: 'refused', code: known }
  const asked = headers.get('stripe-should-retry')
  if (asked === 'true') return { kind: 'again' }
  if (asked === 'false' || retryable === false) return { kind: 'answer' }
  const verdict = isAccepted(response) ? { kind: 'perhaps' as const } : byStatus(status, table)
  // What gives its reason is the application's own answer, unless it says when to come back.
  const isReasoned = code !== undefined && !headers.has('retry-after')
  return verdict.kind === 'perhaps' && isReasoned ? { kind: 'answer' } : verdict
}

export function byStatus(status: number, table: RetryTable): Verdict {
  return { kind: table[status] ?? table[`${Math.floor(status / 100)}xx`] ?? 'answer' }
}

/** How Hapax tells a duplicate that the first was taken note of. An answer that ran would say how long it is kept. */
function isAccepted({ status, headers }: Response): boolean {
  const has = (name: string) => headers.has(name)
  return status === 202 && has('retry-after') && has('location') && !has('idempotency-key-expires')
}

interface Problem {
  readonly code?: string | undefined
  readonly type?: string | undefined
  readonly retryable?: unknown
}

/** RFC 9457 with a code, or an object `error` with a code or a type. */
function problemOf(text: string): Problem {
  try {
    const body = JSON.parse(text) as { error?: unknown }
    const { code, type, retryable } = (typeof body.error === 'object' && body.error ? body.error : body) as Record<
      string,
      unknown
    >
    return { code: wordOf(code), type: wordOf(type), retryable }
  } catch {
    return {}
  }
}

/** In small letters, as some shout them. A number is the status once more, or says nothing to us. */
function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.toLowerCase() : undefined
}
