import type { Draft } from './draft.js'
import { ascii, hexValue, nowhere } from './scan.js'

/** The escapes of one letter, by that letter, and what they stand for. */
const short = new Map(
  [...'"\\/bfnrt'].map((letter, index) => [letter.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(index)]),
)

/** The same the other way round. A solidus needs no escape. */
const shortFor = new Map([...short].filter(([letter]) => letter !== 0x2f).map(([letter, unit]) => [unit, letter]))

/**
 * Respells a string with escapes as RFC 8785 wants it, at the end of the draft, and answers where it ends in the
 * source. A canonical string is never longer than any other spelling of it.
 */
export function respellString(draft: Draft, start: number): number {
  const { source } = draft
  draft.reserve(source.length - start)
  draft.put(ascii.quote)
  for (let at = start + 1; at < source.length; ) {
    const here = source[at] as number
    if (here === ascii.quote) {
      draft.put(ascii.quote)
      return at + 1
    }
    if (here < ascii.blank) return nowhere
    if (here === ascii.backslash) {
      at = respellEscape(draft, at)
      if (at === nowhere) return nowhere
    } else {
      draft.put(here)
      at += 1
    }
  }
  return nowhere
}

/** Two escapes that are the halves of one character are taken together. */
function respellEscape(draft: Draft, start: number): number {
  const { source } = draft
  const unit = escapedUnit(source, start)
  if (unit === nowhere) return nowhere
  const end = start + escapeLength(source, start)
  const low = isHighSurrogate(unit) ? escapedUnit(source, end) : nowhere
  if (isLowSurrogate(low)) {
    putCodePoint(draft, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
    return end + escapeLength(source, end)
  }
  putUnit(draft, unit)
  return end
}

/** The UTF-16 code unit that the escape at this place stands for; `nowhere` when there is no escape, or a bad one. */
export function escapedUnit(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== ascii.backslash) return nowhere
  const letter = bytes[at + 1] as number
  if (letter !== ascii.u) return short.get(letter) ?? nowhere
  let unit = 0
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const value = hexValue(bytes[digit] as number)
    if (value === nowhere) return nowhere
    unit = unit * 16 + value
  }
  return unit
}

export function escapeLength(bytes: Uint8Array, at: number): number {
  return bytes[at + 1] === ascii.u ? 6 : 2
}

/** Escapes only what RFC 8785 wants escaped. A surrogate that is left alone has no UTF-8, and spoils the draft. */
function putUnit(draft: Draft, unit: number): void {
  if (isHighSurrogate(unit) || isLowSurrogate(unit)) {
    draft.flaw ??= 'lone_surrogate'
    return
  }
  const letter = shortFor.get(unit)
  if (letter !== undefined) {
    draft.put(ascii.backslash)
    draft.put(letter)
  } else if (unit < ascii.blank) {
    draft.putAscii(`\\u${unit.toString(16).padStart(4, '0')}`)
  } else {
    putCodePoint(draft, unit)
  }
}

/** Writes UTF-8: a first byte that says how many follow, and those with six bits each. */
function putCodePoint(draft: Draft, point: number): void {
  if (point < 0x80) {
    draft.put(point)
  } else if (point < 0x800) {
    draft.put(0xc0 | (point >> 6))
    putSixBits(draft, point)
  } else if (point < 0x10000) {
    draft.put(0xe0 | (point >> 12))
    putSixBits(draft, point >> 6)
    putSixBits(draft, point)
  } else {
    draft.put(0xf0 | (point >> 18))
    putSixBits(draft, point >> 12)
    putSixBits(draft, point >> 6)
    putSixBits(draft, point)
  }
}

function putSixBits(draft: Draft, bits: number): void {
  draft.put(0x80 | (bits & 0x3f))
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}
