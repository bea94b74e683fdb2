import { parseItem } from 'structured-headers'
import { type IdempotencyKey, type KeyRules, keyOf } from '../engine/key.js'
import { HapaxError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'

/**
 * How the field value spells a key.
 * - `string`: an RFC 9651 Item that is a String, as the IETF draft asks. Parameters behind it are ignored.
 * - `raw`: the value as it is; quotes are part of the key. It holds no comma: where header lines come joined, two keys
 *   could pass for one.
 * - `lenient`: a value that begins with a quote is a String, anything else is a raw token. `"k"` and `k` are one key.
 */
export type KeySyntax = 'lenient' | 'string' | 'raw'

export interface KeyHeaderRules extends KeyRules {
  readonly syntax?: KeySyntax
}

/** Rules that no key could pass, or that promise more than there is room for, are found at start. */
export function checkedKeyRules<Rules extends KeyHeaderRules>(rules: Rules, where: string): Rules {
  const { syntax = 'lenient', minLength = 1, maxLength = limits.keyLength, minVariety = 1, format } = rules
  const refuse = (message: string): never => {
    throw new HapaxError('policy_invalid', `${where}: ${message}`)
  }
  if (!Object.hasOwn(syntaxes, syntax)) refuse(`the syntax of a key is ${Object.keys(syntaxes).join(', ')}.`)
  if (!Number.isSafeInteger(maxLength) || maxLength < 1 || maxLength > limits.keyLength)
    refuse(`maxLength of a key is ${maxLength}; give a whole number from 1 to ${limits.keyLength}.`)
  if (!Number.isSafeInteger(minLength) || minLength < 1 || minLength > maxLength)
    refuse(`minLength of a key is ${minLength}, so no key can pass; give a whole number from 1 to ${maxLength}.`)
  if (!Number.isSafeInteger(minVariety) || minVariety < 1 || minVariety > maxLength)
    refuse(`minVariety of a key is ${minVariety}, so no key can pass; give a whole number from 1 to ${maxLength}.`)
  if (format !== undefined && !(format instanceof RegExp))
    refuse('format of a key is no regular expression; give keyFormats.uuid, or an anchored pattern of your own.')
  return rules
}

const syntaxes: Readonly<Record<KeySyntax, true>> = { lenient: true, string: true, raw: true }

/**
 * Reads the key out of the header. Give each header line apart, as they came: two lines are two keys. Where they come
 * joined by a comma, they are refused for it.
 *
 * @example
 * parseKeyHeader('"8e03978e-40d5-43dd-bc93-6894a57f9324"')   // the same key with and without its quotes
 */
export function parseKeyHeader(
  lines: string | readonly string[] | undefined,
  rules: KeyHeaderRules = {},
): IdempotencyKey {
  const value = typeof lines === 'string' ? lines : lines?.[0]
  if (value === undefined) return keyOf(undefined, rules)
  if (typeof lines !== 'string' && lines !== undefined && lines.length > 1)
    throw malformed('The key header was sent more than once; send one line.')
  refuseOverlong(value, rules)
  const text = keyText(value, rules.syntax ?? 'lenient')
  if (text === '') throw malformed('The key is empty. Send a UUID made once per operation, or no header at all.')
  return keyOf(text, rules)
}

/** Looks at the length only, so that a hostile value costs nothing. Leaves room for escapes, quotes and parameters. */
function refuseOverlong(value: string, { maxLength = limits.keyLength }: KeyRules): void {
  const longest = 2 * maxLength + limits.keyLength
  if (value.length > longest)
    throw malformed(`The key header has ${value.length} characters; a key has at most ${maxLength}.`)
}

function keyText(value: string, syntax: KeySyntax): string {
  switch (syntax) {
    case 'string':
      return stringItem(value)
    case 'raw':
      return withoutComma(trimmed(value))
    case 'lenient': {
      if (plainToken.test(value)) return value
      const text = trimmed(value)
      return text.startsWith('"') ? stringItem(text) : rawToken(text)
    }
  }
}

function stringItem(value: string): string {
  const item = bareItem(value)
  if (typeof item !== 'string')
    throw malformed('The key must be a quoted string, like "8e03978e-40d5-43dd-bc93-6894a57f9324".')
  return item
}

function bareItem(value: string): unknown {
  try {
    return parseItem(value)[0]
  } catch (cause) {
    throw malformed(
      'The key is not one quoted string of RFC 9651; check the quotes and backslashes, and send one key only.',
      cause,
    )
  }
}

/** What nearly all keys are: nothing to trim, to unquote or to refuse. */
const plainToken = /^[\w.~:+/=-]+$/

/**
 * Written out, because a structured-field parser is no judge of raw keys: it reads a UUID that begins with a letter as
 * a Token and refuses one that begins with a digit.
 */
function rawToken(text: string): string {
  if (/\s/.test(withoutComma(text))) throw malformed('The key holds whitespace; quote it, or send a UUID.')
  return text
}

/** Two lines that were joined on the way look like this, and are two keys. */
function withoutComma(text: string): string {
  if (text.includes(',')) throw malformed('The key header holds a comma, as a list does; send one key, without commas.')
  return text
}

/** Without the optional whitespace that HTTP allows around a field value. */
function trimmed(value: string): string {
  return /^[ \t]|[ \t]$/.test(value) ? value.replace(/^[ \t]+/, '').replace(/[ \t]+$/, '') : value
}

function malformed(message: string, cause?: unknown): HapaxError {
  return new HapaxError('idempotency_key_malformed', message, { cause })
}
