/** Why a text has no canonical form. */
export type Flaw = 'not_json' | 'duplicate_member' | 'lone_surrogate' | 'number_out_of_range' | 'too_deep'

/**
 * A JSON text, and behind it the canonical spelling of those tokens that were spelled otherwise. Every token is a
 * range of `bytes`. All work on a text stays in these few arrays: strings and objects for each token would cost more
 * in garbage than all the rest.
 */
export class Draft {
  readonly source: Uint8Array
  /** The source, then what was respelled, then room. */
  bytes: Uint8Array
  length: number
  /** The first flaw of a text that is still JSON. */
  flaw: Flaw | undefined

  constructor(source: Uint8Array) {
    this.source = source
    this.bytes = source
    this.length = source.length
  }

  /** Makes room for `count` bytes. The source itself is never written to: it belongs to the caller. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.bytes.length) return
    const grown = new Uint8Array(2 * needed)
    grown.set(this.bytes.subarray(0, this.length))
    this.bytes = grown
  }

  /** Writes one byte into room that was reserved. */
  put(byte: number): void {
    this.bytes[this.length] = byte
    this.length += 1
  }

  putAscii(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.put(text.charCodeAt(at))
  }
}
