import { ascii } from './scan.js'
import { escapedUnit, escapeLength } from './string.js'

/**
 * Names as RFC 8785 sorts them, by UTF-16 code units, though they stand here as canonical JSON strings in UTF-8. Each
 * string has one canonical spelling, so it is enough to look at the first place where two of them differ.
 */
export function compareNames(bytes: Uint8Array, name: number, other: number): number {
  let at = name + 1
  let otherAt = other + 1
  for (;;) {
    const here = bytes[at]
    if (here === bytes[otherAt] && here !== ascii.quote && here !== ascii.backslash) {
      at += 1
      otherAt += 1
      continue
    }
    const difference = rankAt(bytes, at) - rankAt(bytes, otherAt)
    if (difference !== 0 || here === ascii.quote) return difference
    at += lengthAt(bytes, at)
    otherAt += lengthAt(bytes, otherAt)
  }
}

/** How many different ranks there are. */
export const ranks = 256

/** The rank of the end of a name: whatever goes on comes later. */
export const endRank = 0

/**
 * What stands at this place of a name, as a number to sort by. UTF-8 sorts like code points and UTF-16 not quite: what
 * takes four bytes is a pair of surrogates there, and comes before U+E000 … U+FFFF. First bytes from 0xEE on tell.
 */
export function rankAt(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number
  if (byte === ascii.quote) return endRank
  if (byte === ascii.backslash) return escapedUnit(bytes, at) + 1
  if (byte < 0xee) return byte + 1
  return byte < 0xf0 ? byte + 6 : byte - 1
}

export function lengthAt(bytes: Uint8Array, at: number): number {
  return bytes[at] === ascii.backslash ? escapeLength(bytes, at) : 1
}
