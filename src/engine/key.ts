import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { hasVariety } from '../kernel/variety.js'

declare const brand: unique symbol

/** What the client sends in `Idempotency-Key`, checked. */
export type IdempotencyKey = string & { readonly [brand]: 'IdempotencyKey' }

/** What a key must be like where the default is too generous. */
export interface KeyRules {
  readonly minLength?: number
  /** At most 255, which is what stores have room for. */
  readonly maxLength?: number
  /**
   * The least number of different characters. Eight refuse `1`, `test` and a UUID of zeros, and no UUID that was made at
   * random; of sixteen random hexadecimal digits they refuse one in ninety.
   */
  readonly minVariety?: number
  /** The format that the API publishes, as one of `keyFormats` or an anchored pattern. */
  readonly format?: RegExp
}

const uuidv7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
const ulid = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/i

/**
 * Formats that leave nothing to guess, if they are filled at random; `minVariety` refuses some that are not, and the event
 * `key_looks_guessable` tells of them.
 */
export const keyFormats = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  uuidv7,
  ulid,
  /** Those that say when they were made, for `freshness: { by: 'key' }`. */
  timeOrdered: new RegExp(`${uuidv7.source}|${ulid.source}`, 'i'),
} as const

const printableAscii = /^[\x20-\x7e]*$/

/**
 * The one way to make an IdempotencyKey: printable ASCII, 1 to 255 characters unless the rules say otherwise.
 *
 * @example
 * keyOf('8e03978e-40d5-43dd-bc93-6894a57f9324', { format: keyFormats.uuid })
 */
export function keyOf(text: string | undefined, rules: KeyRules = {}): IdempotencyKey {
  if (text === undefined || text === '') {
    throw new HapaxError(
      'idempotency_key_missing',
      'Send a key: a UUID made once per operation, before the first attempt.',
    )
  }
  if (typeof text !== 'string') throw malformed('The key is not a string; write the number or id as text.')
  const minLength = rules.minLength ?? 1
  const maxLength = Math.min(rules.maxLength ?? limits.keyLength, limits.keyLength)
  if (text.length < minLength || text.length > maxLength) {
    throw malformed(`The key has ${text.length} characters; ${minLength} to ${maxLength} are allowed.`)
  }
  if (!printableAscii.test(text)) {
    throw malformed('The key holds a character that is not printable ASCII; a UUID is a good key.')
  }
  if (rules.minVariety !== undefined && !hasVariety(text, rules.minVariety)) {
    throw malformed(
      `The key has fewer than ${rules.minVariety} different characters, so that anybody could hit on it; send a UUID made at random.`,
    )
  }
  if (rules.format !== undefined && text.search(rules.format) === -1) {
    throw malformed('The key is not in the format that this API asks for; a UUID made at random is a good key.')
  }
  return text as IdempotencyKey
}

function malformed(message: string): HapaxError {
  return new HapaxError('idempotency_key_malformed', message)
}
