/**
 * Where a token of JSON ends. Each function is given the bytes and the place where the token begins, and answers the
 * place behind it, or `nowhere`. None looks back, so a token of any length costs time in proportion and no stack.
 */

export const nowhere = -1

export const ascii = {
  blank: 0x20,
  quote: 0x22,
  plus: 0x2b,
  comma: 0x2c,
  minus: 0x2d,
  point: 0x2e,
  zero: 0x30,
  nine: 0x39,
  colon: 0x3a,
  openBracket: 0x5b,
  backslash: 0x5c,
  closeBracket: 0x5d,
  e: 0x65,
  u: 0x75,
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const

export function endOfBlank(bytes: Uint8Array, start: number): number {
  let at = start
  while (at < bytes.length && isBlank(bytes[at] as number)) at += 1
  return at
}

/** Most bytes are greater than every blank, and are told by that alone. */
function isBlank(byte: number): boolean {
  return byte <= ascii.blank && (byte === ascii.blank || byte === 0x0a || byte === 0x0d || byte === 0x09)
}

/** `start` is at the opening quote. A string with an escape in it is not plain, and ends nowhere. */
export function endOfPlainString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at += 1) {
    const here = bytes[at] as number
    if (here === ascii.quote) return at + 1
    if (here === ascii.backslash || here < ascii.blank) return nowhere
  }
  return nowhere
}

/**
 * A number that is spelled as its form spells it, which most are: without an exponent, without a zero too many, with no more
 * than `most` digits. Any other number ends nowhere here.
 */
export function endOfPlainNumber(bytes: Uint8Array, start: number, most: number): number {
  const first = bytes[start] === ascii.minus ? start + 1 : start
  const whole = digitsFrom(bytes, first)
  if (whole === first || whole - first > most) return nowhere
  const isBelowOne = bytes[first] === ascii.zero
  if (isBelowOne && whole - first > 1) return nowhere
  if (bytes[whole] !== ascii.point) {
    const isNegativeZero = isBelowOne && first !== start
    return isNegativeZero || isExponentMark(bytes[whole]) ? nowhere : whole
  }
  const end = digitsFrom(bytes, whole + 1)
  const isPlain = end - first - 1 <= most && (bytes[end - 1] as number) > ascii.zero && !isExponentMark(bytes[end])
  return isPlain && !(isBelowOne && isTiny(bytes, whole + 1)) ? end : nowhere
}

/** Six zeros behind the point: what is smaller than a millionth has an exponent in its form. */
function isTiny(bytes: Uint8Array, fraction: number): boolean {
  let at = fraction
  while (at < fraction + 6 && bytes[at] === ascii.zero) at += 1
  return at === fraction + 6
}

export function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === ascii.minus ? start + 1 : start
  at = bytes[at] === ascii.zero ? at + 1 : endOfDigits(bytes, at)
  if (at !== nowhere && bytes[at] === ascii.point) at = endOfDigits(bytes, at + 1)
  if (at === nowhere || !isExponentMark(bytes[at])) return at
  const sign = bytes[at + 1]
  return endOfDigits(bytes, sign === ascii.plus || sign === ascii.minus ? at + 2 : at + 1)
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ascii.zero && byte <= ascii.nine
}

function isExponentMark(byte: number | undefined): boolean {
  return byte === ascii.e || byte === 0x45
}

/** The value of a hexadecimal digit. */
export function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : nowhere
}

/** At least one digit. */
function endOfDigits(bytes: Uint8Array, start: number): number {
  const end = digitsFrom(bytes, start)
  return end === start ? nowhere : end
}

/** Any number of digits, even none. */
function digitsFrom(bytes: Uint8Array, start: number): number {
  let at = start
  while (isDigit(bytes[at])) at += 1
  return at
}

/** `true`, `false` or `null`, letter by letter: a loop over the three takes longer than all the rest of reading one. */
export function endOfWord(bytes: Uint8Array, start: number): number {
  switch (bytes[start]) {
    case 0x74:
      return bytes[start + 1] === 0x72 && bytes[start + 2] === 0x75 && bytes[start + 3] === ascii.e
        ? start + 4
        : nowhere
    case 0x66:
      return bytes[start + 1] === 0x61 &&
        bytes[start + 2] === 0x6c &&
        bytes[start + 3] === 0x73 &&
        bytes[start + 4] === ascii.e
        ? start + 5
        : nowhere
    case 0x6e:
      return bytes[start + 1] === ascii.u && bytes[start + 2] === 0x6c && bytes[start + 3] === 0x6c
        ? start + 4
        : nowhere
    default:
      return nowhere
  }
}
