import type { Draft } from './canonical-draft.js'
import { ascii, isDigit, isExponentMark } from './canonical-scan.js'

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
  switch (form) {
    case 'exact':
      return putExact(draft, decimalAt(draft.source, start, end))
    case 'ieee754': {
      const double = Number(Buffer.from(draft.source.subarray(start, end)).toString('latin1'))
      if (Number.isFinite(double)) return draft.putAscii(String(double))
      draft.flaw ??= 'number_out_of_range'
    }
  }
}

/** More than a point, zeros up to the 21st place, and an exponent can add to the digits of a number. */
const longestAddition = 64

/** Whether a number is in both forms already: an integer with few enough digits for a double, as most numbers are. */
export function isPlainInteger(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === ascii.minus ? start + 1 : start
  if (end - first > 15 || (bytes[first] === ascii.zero && end - start > 1)) return false
  return isDigit(bytes[end - 1]) && !holdsMark(bytes, first, end)
}
