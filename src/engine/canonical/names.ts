import { ascii } from './scan.js'
import { escapedUnit, escapeLength } from './string.js'

/**
 * Names as RFC 8785 sorts them, by UTF-16 code units, though they stand here as canonical JSON strings in UTF-8. Each
 * string has one canonical spelling, so it is enough to look at the first place where two of them differ.
 *
 * A name is given by where it starts in the bytes, a place in it by how far that is behind the opening quote.
 */

/**
 * The first place where two names differ, or their end, given that they are alike up to `from`; at most `to`. It is
 * never inside an escape: names that share half of one need not be neighbours.
 */
export function firstDifference(
  bytes: Uint8Array,
  name: number,
  other: number,
  from: number,
  to = bytes.length,
): number {
  let place = from
  while (place < to) {
    const at = name + 1 + place
    const otherAt = other + 1 + place
    const here = bytes[at]
    if (here !== bytes[otherAt] || here === ascii.quote) break
    if (here === ascii.backslash && !isSameEscape(bytes, at, otherAt)) break
    place += here === ascii.backslash ? escapeLength(bytes, at) : 1
  }
  return place
}

/** Of the four digits that a control character has in its canonical spelling, the first two are zeros. */
function isSameEscape(bytes: Uint8Array, at: number, other: number): boolean {
  if (bytes[at + 1] !== bytes[other + 1]) return false
  return bytes[at + 1] !== ascii.u || (bytes[at + 4] === bytes[other + 4] && bytes[at + 5] === bytes[other + 5])
}

/** Negative, zero or positive as the first name is before, like or behind the other, given where they first differ. */
export function differenceAt(bytes: Uint8Array, name: number, other: number, place: number): number {
  return rankAt(bytes, name, place) - rankAt(bytes, other, place)
}

/** How many different ranks there are. */
export const ranks = 256

/** The rank of the end of a name: whatever goes on comes later. */
export const endRank = 0

/**
 * What stands at this place of a name, as a number to sort by. UTF-8 sorts like code points and UTF-16 not quite: what
 * takes four bytes is a pair of surrogates there, and comes before U+E000 … U+FFFF. First bytes from 0xEE on tell.
 */
export function rankAt(bytes: Uint8Array, name: number, place: number): number {
  const at = name + 1 + place
  const byte = bytes[at] as number
  if (byte === ascii.quote) return endRank
  if (byte === ascii.backslash) return escapedUnit(bytes, at) + 1
  if (byte < 0xee) return byte + 1
  return byte < 0xf0 ? byte + 6 : byte - 1
}

export function nextPlace(bytes: Uint8Array, name: number, place: number): number {
  const at = name + 1 + place
  return place + (bytes[at] === ascii.backslash ? escapeLength(bytes, at) : 1)
}
