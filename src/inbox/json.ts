import { HapaxError } from '../kernel/errors.js'

/** What a body says. Bytes that are not UTF-8 say nothing, whatever could be made of them. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new HapaxError('webhook_malformed', 'The body is not JSON.', { cause })
  }
}
