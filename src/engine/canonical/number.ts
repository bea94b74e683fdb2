import type { Draft } from './draft.js'
import { ascii, isDigit, isExponentMark, nowhere } from './scan.js'

/**
 * The normal form of a JSON number. Two spellings have the same form exactly when they are the same number.
 *
 * `exact` writes all significant digits of the decimal in the layout that ECMAScript gives to numbers. Where the
 * shortest rendering of the nearest double has the same decimal value, the two forms are the same text; elsewhere
 * `ieee754`, which is RFC 8785, merges neighbours (`12345678901234567890` and `12345678901234567891`), and `exact`
 * keeps them apart.
 */
export type NumberForm = 'exact' | 'ieee754'

/**
 * Respells the number at `start` … `end` of the source at the end of the draft. A number that its form cannot hold,
 * beyond the doubles or with an exponent nobody can count to, spoils the draft.
 */
export function respellNumber(draft: Draft, start: number, end: number, form: NumberForm): void {
  draft.reserve(end - start + longestAddition)
  const held = form === 'exact' ? putExact(draft, start, end) : putDouble(draft, start, end)
  if (!held) draft.flaw ??= 'number_out_of_range'
}

/** More than a point, zeros up to the 21st place and an exponent can add to the digits of a number. */
const longestAddition = 64

function putDouble(draft: Draft, start: number, end: number): boolean {
  const double = Number(Buffer.from(draft.source.subarray(start, end)).toString('latin1'))
  if (Number.isFinite(double)) draft.putAscii(String(double))
  return Number.isFinite(double)
}

function putExact(draft: Draft, start: number, end: number): boolean {
  const { source } = draft
  let mark = start
  let point = nowhere
  let first = nowhere
  let last = nowhere
  for (; mark < end && !isExponentMark(source[mark]); mark += 1) {
    if (source[mark] === ascii.point) point = mark
    if (!isSignificant(source[mark])) continue
    if (first === nowhere) first = mark
    last = mark
  }
  if (point === nowhere) point = mark
  if (first === nowhere) {
    draft.put(ascii.zero)
    return true
  }
  const shift = exponentAt(source, mark + 1, end)
  if (Math.abs(shift) > farthestShift) return false
  if (source[start] === ascii.minus) draft.put(ascii.minus)
  const wholeDigits = first < point ? point - first : point - first + 1
  putLayout(draft, { first, last, point }, wholeDigits + shift)
  return true
}

/** Well inside the safe integers: an exponent up to here, plus the length of any text, is still counted exactly. */
const farthestShift = 1e15

function isSignificant(byte: number | undefined): boolean {
  return byte !== ascii.zero && isDigit(byte)
}

/** Stops counting once it is past every exponent that is allowed. */
function exponentAt(bytes: Uint8Array, start: number, end: number): number {
  let exponent = 0
  for (let at = start; at < end && exponent <= farthestShift; at += 1) {
    const here = bytes[at]
    if (here !== undefined && isDigit(here)) exponent = exponent * 10 + here - ascii.zero
  }
  return bytes[start] === ascii.minus ? -exponent : exponent
}

/** The digits of a number in the source: from the first to the last that is not zero, around its point. */
interface Digits {
  readonly first: number
  readonly last: number
  readonly point: number
}

/** The layout of Number::toString in ECMA-262 for 0.`digits` × 10^`scale`, for digits of any length. */
function putLayout(draft: Draft, digits: Digits, scale: number): void {
  const { first, last, point } = digits
  const count = last - first + (first < point && point < last ? 0 : 1)
  if (-6 < scale && scale <= 0) {
    draft.put(ascii.zero)
    draft.put(ascii.point)
    putZeros(draft, -scale)
    putDigits(draft, digits, 0, count)
  } else if (0 < scale && scale <= 21) {
    putDigits(draft, digits, 0, Math.min(count, scale))
    putZeros(draft, scale - count)
    if (count > scale) draft.put(ascii.point)
    putDigits(draft, digits, scale, count)
  } else {
    putDigits(draft, digits, 0, 1)
    if (count > 1) draft.put(ascii.point)
    putDigits(draft, digits, 1, count)
    draft.putAscii(`e${scale > 0 ? '+' : '-'}${Math.abs(scale - 1)}`)
  }
}

function putZeros(draft: Draft, count: number): void {
  for (let left = count; left > 0; left -= 1) draft.put(ascii.zero)
}

/** Writes the digits numbered `from` up to `to`, stepping over the point. */
function putDigits(draft: Draft, { first, point }: Digits, from: number, to: number): void {
  for (let index = from; index < to; index += 1) {
    const at = first + index
    draft.put(draft.source[first < point && at >= point ? at + 1 : at] as number)
  }
}
