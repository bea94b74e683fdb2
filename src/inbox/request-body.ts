import { Buffer } from 'node:buffer'
import { HapaxError } from '../kernel/errors.js'

/** The bytes of a request. Reading ends as soon as there are more than the limit. */
export async function requestBody(request: Request, limit: number): Promise<Uint8Array> {
  if (request.bodyUsed || request.body?.locked) throw new HapaxError('policy_invalid', readBefore)
  const reader = request.body?.getReader()
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) {
      chunks.push(next.value)
      length += next.value.byteLength
      if (length > limit) break
    }
  } catch (cause) {
    throw new HapaxError('webhook_malformed', 'The body broke off.', { cause })
  }
  // Nobody need wait for the sender to hear that no more is wanted.
  if (length > limit) reader?.cancel().catch(() => {})
  refuseLonger(length, limit)
  return Buffer.concat(chunks)
}

export function refuseLonger(length: number, limit: number): void {
  if (length > limit) throw new HapaxError('body_too_large', `Send at most ${limit} bytes.`)
}

const readBefore = 'The body was read before the inbox, and its bytes are gone: give it the request unread.'
