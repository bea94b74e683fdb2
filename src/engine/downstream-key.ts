import { hash } from 'node:crypto'
import { framed } from './framed.js'
import { type IdempotencyKey, keyOf } from './key.js'
import type { Claim } from './record.js'

/** Say what is hashed, so that a key for one use is never equal to a key for another. */
const domains = { call: 'hapax call 1', effect: 'hapax effect 1', child: 'hapax child 1' } as const

export type Derivation = keyof typeof domains

/** What the keys of one request are derived from. The fence is not part of it: every attempt sends the same. */
export type Origin = Pick<Claim, 'scope' | 'key' | 'generation'>

/**
 * The key that goes to a provider for one call or effect, and to another guarded request for a child: the same on every
 * attempt, another one for every generation, phase and sequence. It has the shape of a UUID, which every provider takes,
 * and tells nothing of what it was made from.
 */
export function derivedKey(derivation: Derivation, origin: Origin, name: string, sequence = 1): string {
  const { scope, key, generation } = origin
  const parts = [domains[derivation], scope, key, String(generation), name, String(sequence)]
  const hex = hash('sha256', framed(parts))
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant(hex)}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

export function childKey(origin: Origin, name: string): IdempotencyKey {
  return keyOf(derivedKey('child', origin, name))
}

/** Of a UUID, the two bits that say so stand before what is left of its digit. */
function variant(hex: string): string {
  return '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 0x3)
}
