/** One pair of a form, decoded. Each character stands for one byte, so that no two different values look alike. */
export type FormPair = readonly [name: string, value: string]

/**
 * The pairs of an `application/x-www-form-urlencoded` body in their order. Decoded into bytes and not into text,
 * because decoding bad UTF-8 turns different bytes into the same replacement character.
 */
export function formPairs(body: Uint8Array): FormPair[] {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
  const pairs: FormPair[] = []
  for (const piece of text.split('&')) {
    if (piece === '') continue
    const equals = piece.indexOf('=')
    pairs.push(
      equals === -1 ? [decoded(piece), ''] : [decoded(piece.slice(0, equals)), decoded(piece.slice(equals + 1))],
    )
  }
  return pairs
}

/** A field's name as it appears in a pair. */
export function formName(path: readonly string[]): string {
  return Buffer.from(path.join('.')).toString('latin1')
}

function decoded(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
