/** One seed again. */
import { simulated } from './child.mjs'
import { inWords, tell } from './told.mjs'

/**
 * @param {string} bundle
 * @param {number} seed
 */
export async function repeated(bundle, seed) {
  const line = await simulated(bundle, { kind: 'seed', seed })
  if (line.kind === 'failed') tell(line)
  if (line.kind !== 'seed') return false
  for (const words of inWords(line.setting, line.trace)) console.log(words)
  console.log(`✓ seed ${seed} keeps every promise`)
  return true
}
