import { hash } from 'node:crypto'
import { framed } from './framed.js'
import type { RecordName } from './record.js'

/** Says what is hashed, so that no other hash of ours is ever equal to a record's digest. */
const domain = 'hapax record 1'

const digestBytes = 16

/**
 * A record's name in 16 bytes: what an embedded store finds a row by, and the only spelling of a key that a log or
 * an event may hold. Half of a SHA-256 is enough: to meet the record of somebody else one would have to find a second
 * preimage of 128 bits, and two keys that are made to collide only harm the caller who made them.
 */
export function recordDigest({ scope, key }: RecordName): Uint8Array {
  // By way of a text, which node gives sooner than bytes.
  const text = hash('sha256', framed([domain, scope, key]), 'binary')
  return Buffer.from(text.slice(0, digestBytes), 'latin1')
}

/** The same digest as text, 32 characters. */
export function digestHex({ scope, key }: RecordName): string {
  return hash('sha256', framed([domain, scope, key])).slice(0, 2 * digestBytes)
}
