import { isUtf8 } from 'node:buffer'
import type { Flaw } from './draft.js'
import type { NumberForm } from './number.js'
import { parseCanonical } from './parse.js'
import { type JsonTree, root } from './tree.js'
import { writeCanonical } from './write.js'

/** Why bytes have no canonical form. Whoever hashes them then hashes them as they are. */
export type OpaqueReason = Flaw | 'not_utf8'

export interface Opaque {
  readonly kind: 'opaque'
  readonly reason: OpaqueReason
}

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
export function canonicalJson(
  bytes: Uint8Array,
  options: CanonicalOptions = {},
): { readonly kind: 'canonical'; readonly text: string } | Opaque {
  const parsed = canonicalTree(bytes, options)
  if (parsed.kind === 'opaque') return parsed
  return { kind: 'canonical', text: writeCanonical(parsed.tree, root).toString() }
}

/** The same as a tree, for those who select or leave out some of its members. */
export function canonicalTree(
  bytes: Uint8Array,
  { numbers = 'exact' }: CanonicalOptions = {},
): { readonly kind: 'tree'; readonly tree: JsonTree } | Opaque {
  if (!isUtf8(bytes)) return { kind: 'opaque', reason: 'not_utf8' }
  const parsed = parseCanonical(bytes, numbers)
  return typeof parsed === 'string' ? { kind: 'opaque', reason: parsed } : { kind: 'tree', tree: parsed }
}
