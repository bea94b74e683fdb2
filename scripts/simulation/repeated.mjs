/** One seed again. */
import { simulated } from './child.mjs'
import { tell } from './told.mjs'

/**
 * @param {string} bundle
 * @param {number} seed
 */
export async function repeated(bundle, seed) {
  const line = await simulated(bundle, { kind: 'seed', seed })
  if (line.kind === 'failed') tell(line)
  else console.log(`✓ seed ${seed} keeps every promise`)
  return line.kind !== 'failed'
}
