import * as clientBounds from '../kernel/client-limits.js'
import type { Clock } from '../kernel/clock.js'
import { bounded } from './bounded.js'
import { ClientError } from './errors.js'

export type FetchInput = Parameters<typeof fetch>[0]

/** A request as it is sent on every attempt. Its body was written out once: a form would get a new boundary each time. */
export interface SealedRequest {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly body: ArrayBuffer | undefined
  readonly credentials: Request['credentials']
  readonly redirect: Request['redirect']
  /** What else the caller asked of `fetch`. */
  readonly input: FetchInput
  readonly init: RequestInit | undefined
  readonly signal: AbortSignal | undefined
}

/** Writes it out, within the time and under the signal of the operation. */
export async function sealedRequest(
  input: FetchInput,
  init: RequestInit | undefined,
  clock: Clock,
  ms: number,
): Promise<SealedRequest> {
  if (isStream(init?.body)) throw new ClientError('body_not_replayable')
  const signal = init?.signal ?? (isRequest(input) ? input.signal : undefined)
  const request = new Request(input, { ...init, signal: null })
  const { url, method, headers, credentials, redirect } = request
  const hasBody = !isSafe(method) && (isRequest(input) || init?.body != null)
  const read = () => bounded(clock, ms, signal, () => request.arrayBuffer())
  const body = hasBody
    ? await read().catch((cause: unknown) => {
        signal?.throwIfAborted()
        throw new ClientError('body_not_replayable', 'The body could not be read in time.', { cause })
      })
    : undefined
  return { url, method, headers, body, credentials, redirect, input: isRequest(input) ? input : url, init, signal }
}

/** Methods that change nothing need no key. */
export function isSafe(method: string): boolean {
  return /^(GET|HEAD|OPTIONS|TRACE)$/.test(method)
}

function isRequest(input: FetchInput): input is Request {
  return typeof input === 'object' && 'url' in input
}

/** What can be read once only: a web stream, or a stream of Node. */
function isStream(body: unknown): boolean {
  return typeof body === 'object' && body !== null && ('getReader' in body || Symbol.asyncIterator in body)
}

/**
 * Remembers what the last keys that callers chose were used for. A key for something else is noticed before it is sent;
 * where two digests collide, or the key is forgotten, the server still notices.
 */
export function chosenKeys(): (key: string, request: SealedRequest) => void {
  const digests = new Map<string, string>()
  return (key, { method, url, body }) => {
    const digest = `${method} ${url} ${body?.byteLength} ${digestOf(body)}`
    const first = digests.get(key) ?? digest
    if (first !== digest) throw new ClientError('key_reused', undefined, { key })
    digests.delete(key)
    digests.set(key, digest)
    const [oldest = ''] = digests.keys()
    if (digests.size > clientBounds.chosenKeys) digests.delete(oldest)
  }
}

/** FNV-1a. */
function digestOf(body: ArrayBuffer | undefined): number {
  let digest = 0x811c9dc5
  for (const byte of new Uint8Array(body ?? [])) digest = Math.imul(digest ^ byte, 0x01000193)
  return digest
}
