import { limits } from '../../src/kernel/limits.js'

/** Ways in which what a client sends is no key, although one can be read into it. */
export const misspellings = ['twice', 'joined', 'empty', 'overlong', 'control', 'unclosed', 'spaced'] as const

export type Misspelling = (typeof misspellings)[number]

/** How all of them are refused, before anybody looks into the store. */
export const malformed = 'idempotency_key_malformed'

/** The header lines of a request whose key is misspelt: whoever is lenient finds in them the key of somebody else. */
export function misspelt(key: string, how: Misspelling): readonly string[] {
  switch (how) {
    case 'twice':
      return [`"${key}"`, `"${key}"`]
    case 'joined':
      return [`${key},${key}`]
    case 'empty':
      return ['']
    case 'overlong':
      return [`"${key.padEnd(limits.keyLength + 1, 'x')}"`]
    case 'control':
      return [`"${key}\u0007"`]
    case 'unclosed':
      return [`"${key}`]
    case 'spaced':
      return [`${key} ${key}`]
  }
}
