import { HapaxError } from '../../kernel/errors.js'
import { canonicalTree, type OpaqueReason } from '../canonical/canonical.js'
import { type JsonTree, root } from '../canonical/tree.js'
import { writeCanonical } from '../canonical/write.js'
import { dropField, type FieldPath, fieldAt, namesOf, sortedPaths } from './fields.js'
import { formPairs } from './form.js'
import { isForm, isJson, mediaTypeOf } from './media-type.js'
import type { FingerprintSource } from './source.js'

/**
 * What of a request is compared: the five ways of the IETF draft, and the plain bytes.
 * - `whole`: the body, canonical when it is JSON, otherwise byte by byte. The default.
 * - `raw`: the body byte by byte, JSON or not.
 * - `fields`: only the selected fields, or all but the excluded ones, of a JSON or form body. A field that is absent
 *   differs from one that is null or empty. A selection of which nothing is found compares the whole body.
 * - `header`: a header that stands for the body, like `content-digest`. Somebody must have verified it before.
 * - `own`: whatever the function gives. Change the `id` when the function changes. `fields` is what the function looks at, as
 *   it is told to clients.
 *
 * Each may name `headers` that are compared too, like the version of the API: the same body under another version is
 * another request. A header that is absent differs from one that is empty.
 *
 * The subject is always compared, and so are the query and the media type, unless a strategy says that it goes `without`
 * them: for an API whose contract names everything that counts. A form is compared as bytes, or, under `fields`, as decoded
 * pairs in their order, named as in the body (`'destination.ref'` is the pair `destination.ref`).
 */
export type FingerprintStrategy = WhatIsCompared & {
  readonly headers?: readonly string[]
  /** What of the rest of a request does not count. */
  readonly without?: readonly Unread[]
}

/** What a strategy may leave out of the comparison beside the body. */
export type Unread = 'query' | 'media_type'

type WhatIsCompared =
  | { readonly kind: 'whole' }
  | { readonly kind: 'raw' }
  | { readonly kind: 'fields'; readonly select: readonly FieldPath[]; readonly exclude?: never }
  | { readonly kind: 'fields'; readonly exclude: readonly FieldPath[]; readonly select?: never }
  | { readonly kind: 'header'; readonly name: string }
  | {
      readonly kind: 'own'
      readonly id: string
      readonly of: (source: FingerprintSource) => string | Uint8Array
      readonly fields?: readonly FieldPath[]
    }

type FieldsStrategy = FingerprintStrategy & { readonly kind: 'fields' }

/** What is hashed for the body. The first part says what the others are. */
export type Payload = readonly (string | Uint8Array)[]

/** Told when a body has to be hashed as bytes although its strategy would look into it. May throw. */
export type OnOpaque = (reason: OpaqueReason) => void

export function payloadOf(strategy: FingerprintStrategy, source: FingerprintSource, onOpaque: OnOpaque): Payload {
  const body = bodyOf(strategy, source, onOpaque)
  const { headers = [] } = strategy
  if (headers.length === 0) return body
  const values = headerNames(headers).map((name) => [name, source.header?.(name) ?? null])
  return [...body, 'headers', JSON.stringify(values)]
}

/** In one spelling and one order. */
export function headerNames(headers: readonly string[]): readonly string[] {
  return [...new Set(headers.map((name) => name.toLowerCase()))].sort()
}

function bodyOf(strategy: FingerprintStrategy, source: FingerprintSource, onOpaque: OnOpaque): Payload {
  switch (strategy.kind) {
    case 'whole':
      return isJson(mediaTypeOf(source.mediaType)) ? fromJson(source, asJson, onOpaque) : asBytes(source)
    case 'raw':
      return asBytes(source)
    case 'fields':
      return fields(strategy, source, onOpaque)
    case 'header':
      return ['header', JSON.stringify(headerOf(source, strategy.name))]
    case 'own': {
      const own = strategy.of(source)
      return typeof own === 'string' ? ['own text', JSON.stringify(own)] : ['own bytes', own]
    }
  }
}

function asBytes({ body }: FingerprintSource): Payload {
  return ['bytes', body]
}

/** An empty body is not JSON, but nothing about it is in doubt either. */
function fromJson(source: FingerprintSource, shape: (tree: JsonTree) => Payload, onOpaque: OnOpaque): Payload {
  if (source.body.byteLength === 0) return asBytes(source)
  const parsed = canonicalTree(source.body)
  if (parsed.kind === 'tree') {
    const payload = shape(parsed.tree)
    parsed.tree.release()
    return payload
  }
  onOpaque(parsed.reason)
  return asBytes(source)
}

function asJson(tree: JsonTree): Payload {
  return ['json', writeCanonical(tree, root)]
}

function fields(strategy: FieldsStrategy, source: FingerprintSource, onOpaque: OnOpaque): Payload {
  const mediaType = mediaTypeOf(source.mediaType)
  if (isForm(mediaType)) return formFields(strategy, source)
  if (isJson(mediaType)) return fromJson(source, (tree) => jsonFields(strategy, tree), onOpaque)
  if (source.body.byteLength > 0) onOpaque('not_json')
  return asBytes(source)
}

function jsonFields({ select, exclude }: FieldsStrategy, tree: JsonTree): Payload {
  if (select === undefined) {
    for (const path of exclude) dropField(tree, namesOf(path))
    return asJson(tree)
  }
  const parts: (string | Uint8Array)[] = []
  for (const path of sortedPaths(select)) {
    const field = fieldAt(tree, path)
    if (field !== undefined) parts.push(JSON.stringify([path, field.depth]), writeCanonical(tree, field.value))
  }
  return parts.length === 0 ? asJson(tree) : ['json fields', ...parts]
}

function formFields({ select, exclude }: FieldsStrategy, source: FingerprintSource): Payload {
  const listed = (select ?? exclude).map((path) => Buffer.from(namesOf(path).join('.')))
  const { bytes, lengths } = formPairs(source.body, listed, select === undefined ? 'exclude' : 'select')
  return select !== undefined && lengths.length === 0 ? asBytes(source) : ['form', JSON.stringify(lengths), bytes]
}

function headerOf(source: FingerprintSource, name: string): string {
  const value = source.header?.(name.toLowerCase())
  if (value !== undefined && value !== '') return value
  throw new HapaxError('fingerprint_header_missing', `Send the header ${name}: requests are compared by it.`)
}
