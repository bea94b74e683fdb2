const uuidv7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
const ulid = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/i
const crockford = '0123456789abcdefghjkmnpqrstvwxyz'

/** When a key says that it was made, in milliseconds since 1970; `undefined` when it is neither UUIDv7 nor ULID. */
export function timeInKey(key: string): number | undefined {
  const [, high, low] = uuidv7.exec(key) ?? []
  if (high !== undefined && low !== undefined) return Number.parseInt(high + low, 16)
  if (!ulid.test(key)) return undefined
  return [...key.slice(0, 10).toLowerCase()].reduce((time, digit) => time * 32 + crockford.indexOf(digit), 0)
}
