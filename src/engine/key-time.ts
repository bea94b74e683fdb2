import { keyFormats } from './key.js'

const crockford = '0123456789abcdefghjkmnpqrstvwxyz'

/** When a key says that it was made, in milliseconds since 1970; `undefined` when it is neither UUIDv7 nor ULID. */
export function timeInKey(key: string): number | undefined {
  if (keyFormats.uuidv7.test(key)) return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16)
  if (!keyFormats.ulid.test(key)) return undefined
  return [...key.slice(0, 10).toLowerCase()].reduce((time, digit) => time * 32 + crockford.indexOf(digit), 0)
}
