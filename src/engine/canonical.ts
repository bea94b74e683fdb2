import { isUtf8 } from 'node:buffer'
import type { JsonNode } from './canonical-node.js'
import type { NumberForm } from './canonical-number.js'
import { type Flaw, parseCanonical } from './canonical-parse.js'

/** Why bytes have no canonical form. Whoever hashes them then hashes them as they are. */
export type OpaqueReason = Flaw | 'not_utf8'

export type Canonical =
  | { readonly kind: 'canonical'; readonly text: string }
  | { readonly kind: 'opaque'; readonly reason: OpaqueReason }

export interface CanonicalOptions {
  /**
   * `exact` (the default) never merges two different numbers. `ieee754` is RFC 8785 to the letter: numbers are doubles,
   * and one beyond the doubles has no canonical form.
   */
  readonly numbers?: NumberForm
}

/**
 * The canonical form of a JSON text: RFC 8785, without losing numbers.
 *
 * @example
 * canonicalJson(Buffer.from('{ "b": 1.0, "a": "\\u0041" }'))   // { kind: 'canonical', text: '{"a":"A","b":1}' }
 */
export function canonicalJson(bytes: Uint8Array, options: CanonicalOptions = {}): Canonical {
  const parsed = canonicalTree(bytes, options)
  return parsed.kind === 'opaque' ? parsed : { kind: 'canonical', text: parsed.root.text }
}

export type CanonicalTree =
  | { readonly kind: 'tree'; readonly root: JsonNode }
  | { readonly kind: 'opaque'; readonly reason: OpaqueReason }

/** The same, with the members of objects at hand for those who select or leave out some of them. */
export function canonicalTree(bytes: Uint8Array, { numbers = 'exact' }: CanonicalOptions = {}): CanonicalTree {
  if (!isUtf8(bytes)) return { kind: 'opaque', reason: 'not_utf8' }
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const parsed = parseCanonical(text, numbers)
  return typeof parsed === 'string' ? { kind: 'opaque', reason: parsed } : { kind: 'tree', root: parsed }
}
