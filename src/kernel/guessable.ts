import { limits } from './limits.js'

/**
 * Whether a key has too few different characters to have been made at random: `1`, `test`, a UUID of zeros. Somebody else
 * may hit on such a key, or a client sends the same one with everything.
 */
export function looksGuessable(text: string): boolean {
  const seen = new Set<number>()
  for (let index = 0; index < text.length && seen.size < limits.keyVariety; index++) seen.add(text.charCodeAt(index))
  return seen.size < limits.keyVariety
}
