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
  for (;;) {
    const here = bytes[at]
    if (here !== ascii.blank && here !== 0x0a && here !== 0x0d && here !== 0x09) return at
    at += 1
  }
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

/** A whole number with few enough digits for a double is the same in every form. Any other number ends nowhere here. */
export function endOfPlainNumber(bytes: Uint8Array, start: number): number {
  const first = bytes[start] === ascii.minus ? start + 1 : start
  let at = first
  while (isDigit(bytes[at])) at += 1
  const isShort = at > first && at - first <= 15
  const isPlain = bytes[first] !== ascii.zero || at - start === 1
  return isShort && isPlain && bytes[at] !== ascii.point && !isExponentMark(bytes[at]) ? at : nowhere
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

export function isExponentMark(byte: number | undefined): boolean {
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
  let at = start
  while (isDigit(bytes[at])) at += 1
  return at === start ? nowhere : at
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
