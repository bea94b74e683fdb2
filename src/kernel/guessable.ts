import { limits } from './limits.js'
import { hasVariety } from './variety.js'

/**
 * Whether a key has too few different characters to have been made at random: `1`, `test`, a UUID of zeros. Somebody else
 * may hit on such a key, or a client sends the same one with everything.
 */
export function looksGuessable(text: string): boolean {
  return !hasVariety(text, limits.keyVariety)
}
