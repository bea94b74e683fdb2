/**
 * The normal form of a JSON number. Two spellings have the same form exactly when they are the same number.
 *
 * `exact` writes all significant digits of the decimal in the layout that ECMAScript gives to numbers. Where the
 * shortest rendering of the nearest double has the same decimal value, the two forms are the same text; elsewhere
 * RFC 8785 would merge neighbours (`12345678901234567890` and `12345678901234567891`) and `exact` keeps them apart.
 */
export type NumberForm = 'exact' | 'ieee754'

/** `undefined` when the form cannot hold the number: beyond the doubles, or with an exponent nobody can count to. */
export function canonicalNumber(literal: string, form: NumberForm): string | undefined {
  switch (form) {
    case 'ieee754': {
      const double = Number(literal)
      return Number.isFinite(double) ? String(double) : undefined
    }
    case 'exact':
      return exactNumber(literal)
  }
}

function exactNumber(literal: string): string | undefined {
  const sign = literal.startsWith('-') ? '-' : ''
  const [mantissa = '', exponent = '0'] = literal.slice(sign.length).split(/[eE]/)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = whole + fraction
  const first = digits.search(/[1-9]/)
  if (first === -1) return '0'
  const shift = Number(exponent)
  if (Math.abs(shift) > farthestShift) return undefined
  return sign + layout(digits.slice(first, endOfSignificant(digits)), whole.length - first + shift)
}

/** Well inside the safe integers: an exponent up to here, plus the length of any text, is still counted exactly. */
const farthestShift = 1e15

function endOfSignificant(digits: string): number {
  let end = digits.length
  while (digits.charCodeAt(end - 1) === 0x30) end -= 1
  return end
}

/** The layout of Number::toString in ECMA-262 for the value 0.`digits` × 10^`point`, for digits of any length. */
function layout(digits: string, point: number): string {
  if (digits.length <= point && point <= 21) return digits + '0'.repeat(point - digits.length)
  if (0 < point && point <= 21) return `${digits.slice(0, point)}.${digits.slice(point)}`
  if (-6 < point && point <= 0) return `0.${'0'.repeat(-point)}${digits}`
  const mantissa = digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`
  return `${mantissa}e${point > 0 ? '+' : '-'}${Math.abs(point - 1)}`
}
