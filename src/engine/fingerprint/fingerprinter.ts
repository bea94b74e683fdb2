import { HapaxError, invariant } from '../../kernel/errors.js'
import type { OpaqueReason } from '../canonical/canonical.js'
import { framed } from '../framed.js'
import type { Fingerprint } from './fingerprint.js'
import { mediaTypeOf } from './media-type.js'
import { currentRecipeId, type FingerprintSecret, type Recipe, recipesOf } from './recipe.js'
import type { FingerprintSource } from './source.js'
import { type FingerprintStrategy, type OnOpaque, payloadOf, type Unread } from './strategy.js'

/** Makes fingerprints under one strategy, and under the recipes that older records may hold. */
export interface Fingerprinter {
  of(source: FingerprintSource): Fingerprint
  /** The same request under the recipe of a stored record; `undefined` when this release does not know it. */
  under(recipe: string, source: FingerprintSource): Fingerprint | undefined
}

export interface FingerprintOptions {
  readonly strategy?: FingerprintStrategy
  /** Strategies of earlier releases whose records may still be retried. */
  readonly formerly?: readonly FingerprintStrategy[]
  /** Makes fingerprints worthless to who steals them: a plain hash of a PIN or an amount is guessed in no time. */
  readonly secret?: FingerprintSecret
  /** Refuses a body that has no canonical form, where it would otherwise be compared byte by byte. */
  readonly strict?: true
  /** Told of each body that had no canonical form and was compared byte by byte, so that it can be counted. */
  readonly onOpaque?: (reason: OpaqueReason) => void
}

/** Says what is hashed, so that no other hash of ours is ever equal to a fingerprint. */
const domain = 'hapax fingerprint'

/**
 * Checks the options once and gives the function that tells requests apart.
 *
 * @example
 * const prints = fingerprinter({ strategy: { kind: 'fields', select: ['customerId', 'amountCents'] } })
 */
export function fingerprinter(options: FingerprintOptions = {}): Fingerprinter {
  const { strategy = { kind: 'whole' }, formerly = [], secret } = options
  const recipes = recipesOf([strategy, ...formerly], secret)
  const current = recipes.get(currentRecipeId(strategy, secret))
  invariant(current, 'the current recipe is among the known ones')
  const onOpaque = options.strict === true ? refuse : (options.onOpaque ?? ignore)
  return {
    of: (source) => made(current, source, onOpaque),
    under(id, source) {
      const recipe = recipes.get(id)
      return recipe && made(recipe, source, ignore)
    },
  }
}

/**
 * Every part is hashed behind its length and the recipe is one of them, so that no choice of paths, media types or
 * bodies makes two requests one. Strings that a client chooses freely travel as JSON, which also tells apart strings
 * that UTF-8 would not.
 */
function made({ id, strategy, hashed }: Recipe, source: FingerprintSource, onOpaque: OnOpaque): Fingerprint {
  const payload = payloadOf(strategy, source, onOpaque)
  const { without = nothing } = strategy
  const mediaType = without.includes('media_type') ? '' : mediaTypeOf(source.mediaType).text
  const query = without.includes('query') ? undefined : source.query
  return `${id}:${hashed(framed(payload, headOf(id, source.subject, query, mediaType)))}` as Fingerprint
}

const nothing: readonly Unread[] = []

/** All that is hashed before the body. Many requests in a row have the same, so the last is kept. */
function headOf(id: string, subject: readonly string[], query: string | undefined, mediaType: string): Uint8Array {
  const isKept =
    last !== undefined &&
    last.id === id &&
    last.mediaType === mediaType &&
    last.query === query &&
    isSame(last.subject, subject)
  if (!isKept) {
    const spelled = JSON.stringify(query === undefined ? subject : [...subject, query])
    // A copy: what is framed is written over by the next.
    const bytes = Buffer.from(framed([domain, id, spelled, mediaType]))
    last = { id, subject: [...subject], query, mediaType, bytes }
  }
  return (last as Head).bytes
}

interface Head {
  readonly id: string
  readonly subject: readonly string[]
  readonly query: string | undefined
  readonly mediaType: string
  readonly bytes: Uint8Array
}

let last: Head | undefined

function isSame(subject: readonly string[], other: readonly string[]): boolean {
  if (subject.length !== other.length) return false
  for (let index = 0; index < subject.length; index++) if (subject[index] !== other[index]) return false
  return true
}

/** A former recipe is compared the way it was made, strict or not, and nothing is counted twice. */
function ignore(): void {}

function refuse(reason: OpaqueReason): never {
  throw new HapaxError(
    'body_not_canonical',
    `The body has no canonical form (${reason}). Send well-formed JSON with each member once.`,
  )
}
