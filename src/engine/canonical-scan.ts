/**
 * Where a token of JSON ends. Each function is given the text and the place where the token should begin, and
 * answers the place behind it, or `nowhere`. They walk character by character and never backtrack, so that a token
 * of any length costs time in proportion to its length and no stack.
 */

export const nowhere = -1

export const code = {
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
  openBrace: 0x7b,
  closeBrace: 0x7d,
} as const

const firstPrintable = 0x20

export function endOfBlank(text: string, start: number): number {
  let at = start
  for (;;) {
    const here = text.charCodeAt(at)
    if (here !== 0x20 && here !== 0x0a && here !== 0x0d && here !== 0x09) return at
    at += 1
  }
}

/** `start` is at the opening quote. Whether the escapes inside are good ones is for the reader of the string to judge. */
export function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const here = text.charCodeAt(at)
    if (here === code.quote) return at + 1
    if (here === code.backslash) at += 1
    else if (here < firstPrintable) return nowhere
  }
  return nowhere
}

export function endOfNumber(text: string, start: number): number {
  let at = text.charCodeAt(start) === code.minus ? start + 1 : start
  at = text.charCodeAt(at) === code.zero ? at + 1 : endOfDigits(text, at)
  if (at !== nowhere && text.charCodeAt(at) === code.point) at = endOfDigits(text, at + 1)
  if (at === nowhere || !isExponentMark(text.charCodeAt(at))) return at
  const sign = text.charCodeAt(at + 1)
  return endOfDigits(text, sign === code.plus || sign === code.minus ? at + 2 : at + 1)
}

/** At least one digit. */
function endOfDigits(text: string, start: number): number {
  let at = start
  while (isDigit(text.charCodeAt(at))) at += 1
  return at === start ? nowhere : at
}

function isDigit(here: number): boolean {
  return here >= code.zero && here <= code.nine
}

function isExponentMark(here: number): boolean {
  return here === 0x65 || here === 0x45
}

export function endOfWord(text: string, start: number): number {
  for (const word of ['true', 'false', 'null']) if (text.startsWith(word, start)) return start + word.length
  return nowhere
}
