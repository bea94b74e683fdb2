import { bounded } from './bounded.js'
import type { Settings } from './options.js'
import { readAhead } from './read-ahead.js'
import type { SealedRequest } from './sealed-request.js'
import { byStatus, type Verdict, verdictOf } from './verdict.js'

/** What came of one attempt: a response and what it means, or no response. */
export interface Met {
  readonly verdict: Verdict
  readonly response?: Response
  readonly error?: unknown
}

/** Sends once, within `ms`. Rejects only when the caller aborted. */
export async function attempted(
  request: SealedRequest,
  key: string | undefined,
  settings: Settings,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<Met> {
  try {
    return await bounded(settings.clock, ms, signal, (either) => sent(request, key, settings, either))
  } catch (error) {
    signal?.throwIfAborted()
    return { verdict: { kind: 'again' }, error }
  }
}

async function sent(
  { method, headers: own, body, input, init }: SealedRequest,
  key: string | undefined,
  settings: Settings,
  signal: AbortSignal,
): Promise<Met> {
  const headers = new Headers(own)
  try {
    for (const [name, value] of new Headers(await settings.headers?.())) headers.set(name, value)
  } catch (error) {
    // A mistake of the program, or a token that is not to be had: neither is mended by asking twelve times.
    return { verdict: { kind: 'refused', code: 'headers_failed' }, error }
  }
  // Whoever gave up meanwhile was told so: nothing may be sent after that.
  signal.throwIfAborted()
  if (key !== undefined) headers.set(settings.header, key)
  // A Blob, since Node uses up bytes at their first sending, and then cannot follow a redirect with them.
  const sealed = body && { body: new Blob([body]) }
  const response = await settings.fetch(input, { ...init, method, headers, signal, ...sealed })
  if (key === undefined) return { response, verdict: byStatus(response.status, settings.table) }
  return { response, verdict: verdictOf(response, await readAhead(response), settings.table) }
}
