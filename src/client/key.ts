import { type Chance, systemChance } from '../kernel/chance.js'
import * as clientBounds from '../kernel/client-limits.js'
import { personalShape } from '../kernel/personal.js'
import { ClientError } from './errors.js'

/** Whether a key that looks like an address, a phone or a card may be sent all the same. */
export type PersonalKeys = 'refuse' | 'allow'

/**
 * A key for one operation, a random UUID: for hooks of other clients, and to keep a key beside what it is for before
 * anything is sent.
 */
export function newKey(): string {
  return clientChance.id()
}

/** A page that came without TLS has randomness, but nothing to make a UUID of it with. */
export const clientChance: Chance = {
  fraction: systemChance.fraction,
  id: () =>
    typeof crypto.randomUUID === 'function' ? systemChance.id() : uuidOf(crypto.getRandomValues(new Uint8Array(16))),
}

/** Version 4, as RFC 9562 lays it out. */
export function uuidOf(random: Uint8Array): string {
  const hex = Array.from(random, (byte, index) => {
    const marked = index === 6 ? (byte & 0x0f) | 0x40 : index === 8 ? (byte & 0x3f) | 0x80 : byte
    return marked.toString(16).padStart(2, '0')
  }).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** As it stands in the header, with quotes or without. What is wrong with a key is said without the key. */
export function checkedKey(key: string, personal: PersonalKeys): string {
  const bare = key.replace(/^"(.*)"$/, '$1')
  // The comma stands between the two ranges.
  if (!/^[!-+\--~]+$/.test(bare) || bare.length > clientBounds.keyLength)
    throw new ClientError(
      'key_refused',
      `A key has 1 to ${clientBounds.keyLength} visible ASCII characters and no comma.`,
    )
  const shape = personal === 'refuse' ? personalShape(bare) : undefined
  if (shape === undefined) return key
  const message = `The key looks like personal data (${shape}). Use a UUID, or say personalKeys: 'allow'.`
  throw new ClientError('key_refused', message)
}
