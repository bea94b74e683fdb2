import { ascii } from './canonical-scan.js'
import { escapedUnit, escapeLength } from './canonical-string.js'

/**
 * Compares two names by their UTF-16 code units, as RFC 8785 wants, though they stand here as canonical JSON strings
 * in UTF-8, with their quotes. One canonical spelling for each string makes it enough to look at the first place where
 * they differ.
 */
export function compareNames(
  bytes: Uint8Array,
  start: number,
  end: number,
  otherStart: number,
  otherEnd: number,
): number {
  let at = start + 1
  let other = otherStart + 1
  while (at < end - 1 && other < otherEnd - 1) {
    const mine = bytes[at] as number
    const theirs = bytes[other] as number
    if (mine === ascii.backslash || theirs === ascii.backslash) {
      const difference = unitRank(bytes, at) - unitRank(bytes, other)
      if (difference !== 0) return difference
      at += escapeLength(bytes, at)
      other += escapeLength(bytes, other)
    } else {
      if (mine !== theirs) return rank(mine) - rank(theirs)
      at += 1
      other += 1
    }
  }
  return end - at - (otherEnd - other)
}

function unitRank(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number
  return byte === ascii.backslash ? escapedUnit(bytes, at) : rank(byte)
}

/**
 * UTF-8 sorts like code points, UTF-16 does not quite: what takes four bytes is a pair of surrogates there, and comes
 * before U+E000 … U+FFFF. Only first bytes from 0xEE on tell.
 */
function rank(byte: number): number {
  if (byte < 0xee) return byte
  return byte >= 0xf0 ? byte - 2 : byte + 5
}
