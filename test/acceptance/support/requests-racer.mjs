/**
 * One node of an application: races for every key with many requests at once, and writes a line to a file for each
 * time its handler ran. A line that is written cannot be taken back, like a charge.
 */
import { appendFileSync } from 'node:fs'
import process from 'node:process'
import { engine, isHapaxError } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

const [path = '', effects = '', keys = '', racers = ''] = process.argv.slice(2)
const hapax = engine({ store: sqliteStore({ path }) })
const policy = hapax.policy({ name: 'race' })
const keysAtOnce = 20

await hapax.open()
process.send?.('ready')
process.once('message', async () => {
  const seen = { ran: 0, replayed: 0, refused: 0 }
  for (let first = 0; first < Number(keys); first += keysAtOnce) {
    const races = Array.from({ length: keysAtOnce * Number(racers) }, (_, index) =>
      race(`k${first + (index % keysAtOnce)}`),
    )
    for (const outcome of await Promise.all(races)) seen[outcome]++
  }
  await hapax.close()
  process.send?.(seen)
  process.disconnect()
})

/**
 * @param {string} key
 * @returns {Promise<'ran' | 'replayed' | 'refused'>}
 */
async function race(key) {
  try {
    const { replayed } = await hapax.run({ scope: 'acme', key, policy }, async () =>
      appendFileSync(effects, `${key}\n`),
    )
    return replayed ? 'replayed' : 'ran'
  } catch (error) {
    if (isHapaxError(error, 'idempotency_key_in_progress')) return 'refused'
    throw error
  }
}
