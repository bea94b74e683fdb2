import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'

declare const brand: unique symbol

/** What the client sends in `Idempotency-Key`, checked. */
export type IdempotencyKey = string & { readonly [brand]: 'IdempotencyKey' }

export interface KeyRules {
  readonly minLength?: number
  readonly maxLength?: number
}

const printableAscii = /^[\x20-\x7e]*$/

/** The one way to make an IdempotencyKey: printable ASCII, 1 to 255 characters unless the rules say otherwise. */
export function keyOf(text: string | undefined, rules: KeyRules = {}): IdempotencyKey {
  if (text === undefined || text === '') {
    throw new HapaxError(
      'idempotency_key_missing',
      'Send a key: a UUID made once per operation, before the first attempt.',
    )
  }
  const minLength = rules.minLength ?? 1
  const maxLength = rules.maxLength ?? limits.keyLength
  if (text.length < minLength || text.length > maxLength) {
    throw new HapaxError(
      'idempotency_key_malformed',
      `The key has ${text.length} characters; ${minLength} to ${maxLength} are allowed.`,
    )
  }
  if (!printableAscii.test(text)) {
    throw new HapaxError(
      'idempotency_key_malformed',
      'The key holds a character that is not printable ASCII; a UUID is a good key.',
    )
  }
  return text as IdempotencyKey
}
