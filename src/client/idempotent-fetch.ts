import { answered } from './operation.js'
import { keyOf } from './operation-key.js'
import { type CallOptions, type ClientOptions, milliseconds, type Settings, settingsOf } from './options.js'
import { chosenKeys, type FetchInput, sealedRequest } from './sealed-request.js'

/** As `fetch`; what one call wants otherwise comes behind. */
export type IdempotentFetch = (input: FetchInput, init?: RequestInit, call?: CallOptions) => Promise<Response>

/**
 * A `fetch` that may be relied on: a request that changes something carries a key, made once before the first byte and
 * sent with every attempt, and is sent again until there is an answer.
 *
 * @example
 * const send = idempotentFetch({ deadline: '30s' })
 * const response = await send('https://api.example.com/payments', { method: 'POST', body: JSON.stringify(payment) })
 */
export function idempotentFetch(options: ClientOptions = {}): IdempotentFetch {
  const settings = settingsOf(options)
  const remember = chosenKeys()

  return async function send(input, init, call = {}) {
    const { clock } = settings
    const startedAt = clock.elapsed()
    const theirs: Settings = {
      ...settings,
      deadlineMs: milliseconds(call.deadline, 'deadline', settings.deadlineMs),
      onAttempt: call.onAttempt ?? settings.onAttempt,
    }
    const request = await sealedRequest(input, init, clock, theirs.deadlineMs)
    const key = keyOf(request, call, settings)
    if (key?.chosen) remember(key.value, request)
    return answered({ request, key: key?.value, settings: theirs }, request.signal, startedAt)
  }
}
