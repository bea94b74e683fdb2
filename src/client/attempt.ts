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
  const late = new AbortController()
  const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
  const timeout = () => late.abort(new DOMException(`There was no answer within ${Math.ceil(ms)} ms.`, 'TimeoutError'))
  const cancel = settings.clock.after(ms, timeout)
  try {
    return await unlessAborted(sent(request, key, settings, either), either)
  } catch (error) {
    signal?.throwIfAborted()
    // What goes on behind our back has no one to answer to.
    late.abort()
    return { verdict: { kind: 'again' }, error }
  } finally {
    cancel()
  }
}

async function sent(
  { method, headers: own, body, input, init }: SealedRequest,
  key: string | undefined,
  settings: Settings,
  signal: AbortSignal,
): Promise<Met> {
  const headers = new Headers(own)
  for (const [name, value] of new Headers(await settings.headers?.())) headers.set(name, value)
  if (key !== undefined) headers.set(settings.header, key)
  // A Blob, since Node uses up bytes at their first sending, and then cannot follow a redirect with them.
  const sealed = body && { body: new Blob([body]) }
  const response = await settings.fetch(input, { ...init, method, headers, signal, ...sealed })
  if (key === undefined) return { response, verdict: byStatus(response.status, settings.table) }
  return { response, verdict: verdictOf(response, await readAhead(response), settings.table) }
}

/** A `fetch` that was handed in may not listen to its signal. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    if (signal.aborted) abort()
  })
}
