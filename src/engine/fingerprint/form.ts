import { hexValue, nowhere } from '../canonical/scan.js'

/** Pairs of a form, decoded: name, value, name, value, one behind the other, and how long each is. */
export interface FormPairs {
  readonly bytes: Uint8Array
  readonly lengths: readonly number[]
}

/**
 * Those pairs of an `application/x-www-form-urlencoded` body whose name is listed, or those whose name is not, in their
 * order. They are decoded into bytes and not into text, because bad UTF-8 of different kinds becomes the same text.
 */
export function formPairs(body: Uint8Array, names: readonly Uint8Array[], mode: 'select' | 'exclude'): FormPairs {
  const out = new Uint8Array(body.length)
  const lengths: number[] = []
  let length = 0
  for (let start = 0; start < body.length; ) {
    const end = placeOf(ampersand, body, start, body.length)
    const equals = placeOf(equalsSign, body, start, end)
    const nameEnd = decode(body, start, equals, out, length)
    const valueEnd = decode(body, equals + 1, end, out, nameEnd)
    if (end > start && isListed(names, out, length, nameEnd) === (mode === 'select')) {
      lengths.push(nameEnd - length, valueEnd - nameEnd)
      length = valueEnd
    }
    start = end + 1
  }
  return { bytes: out.subarray(0, length), lengths }
}

const ampersand = 0x26
const equalsSign = 0x3d
const percent = 0x25
const plus = 0x2b
const blank = 0x20

/** `end` when it is not there. */
function placeOf(byte: number, body: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && body[at] !== byte) at += 1
  return at
}

/** Writes what stands at `start` … `end`, decoded, and answers where it ends in `out`. A stray percent sign is itself. */
function decode(body: Uint8Array, start: number, end: number, out: Uint8Array, outStart: number): number {
  let to = outStart
  for (let at = start; at < end; at += 1) {
    const here = body[at] as number
    const decoded = here === percent ? hexPair(body, at + 1) : nowhere
    if (decoded !== nowhere) at += 2
    out[to] = decoded !== nowhere ? decoded : here === plus ? blank : here
    to += 1
  }
  return to
}

/** Never reads past the end of a name or value, since no delimiter is a hexadecimal digit. */
function hexPair(body: Uint8Array, at: number): number {
  const high = hexValue(body[at] as number)
  const low = hexValue(body[at + 1] as number)
  return high === nowhere || low === nowhere ? nowhere : high * 16 + low
}

function isListed(names: readonly Uint8Array[], bytes: Uint8Array, start: number, end: number): boolean {
  return names.some((name) => name.length === end - start && name.every((byte, index) => bytes[start + index] === byte))
}
