import type { Draft } from './draft.js'
import { ascii, nowhere } from './scan.js'

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
 * With no more digits than this a number needs no exponent, and no other number has the same form: a double tells apart all
 * numbers of 15 digits.
 */
export const plainDigits: Readonly<Record<NumberForm, number>> = { exact: 21, ieee754: 15 }

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

/** Of what can stand in front of an exponent, digits are the greatest, and of those zero is the least. */
function putExact(draft: Draft, start: number, end: number): boolean {
  const { source } = draft
  let mark = start
  let point = nowhere
  let first = nowhere
  let last = nowhere
  for (; mark < end; mark += 1) {
    const here = source[mark] as number
    if (here > ascii.nine) break
    if (here === ascii.point) point = mark
    if (here <= ascii.zero) continue
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

/** Stops counting once it is past every exponent that is allowed. */
function exponentAt(bytes: Uint8Array, start: number, end: number): number {
  let exponent = 0
  for (let at = start; at < end && exponent <= farthestShift; at += 1) {
    const here = bytes[at] as number
    if (here >= ascii.zero) exponent = exponent * 10 + here - ascii.zero
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
    if (count <= scale) return
    draft.put(ascii.point)
    putDigits(draft, digits, scale, count)
  } else {
    putDigits(draft, digits, 0, 1)
    if (count > 1) draft.put(ascii.point)
    putDigits(draft, digits, 1, count)
    draft.put(ascii.e)
    draft.put(scale > 0 ? ascii.plus : ascii.minus)
    putWhole(draft, Math.abs(scale - 1))
  }
}

function putZeros(draft: Draft, count: number): void {
  if (count <= 0) return
  const { bytes, length } = draft
  for (let at = length; at < length + count; at += 1) bytes[at] = ascii.zero
  draft.length += count
}

/** Writes the digits numbered `from` up to `to`, stepping over the point. */
function putDigits(draft: Draft, { first, point }: Digits, from: number, to: number): void {
  const { source, bytes, length } = draft
  for (let index = from; index < to; index += 1) {
    const at = first + index
    bytes[length + index - from] = source[first < point && at >= point ? at + 1 : at] as number
  }
  draft.length += to - from
}

function putWhole(draft: Draft, number: number): void {
  if (number > 9) putWhole(draft, Math.floor(number / 10))
  draft.put(ascii.zero + (number % 10))
}
