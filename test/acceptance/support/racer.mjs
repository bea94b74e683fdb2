/**
 * One node of an application. Told a round of keys, it races for each with many requests at once, and writes a line
 * to a file for each time its handler ran: a line that is written cannot be taken back, like a charge.
 */
import { appendFileSync } from 'node:fs'
import process from 'node:process'
import { engine, isHapaxError } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

const [path = '', effects = '', racers = ''] = process.argv.slice(2)
const hapax = engine({ store: sqliteStore({ path }) })
const policy = hapax.policy({ name: 'race' })

await hapax.open()
process.send?.('ready')
process.on('message', async (/** @type {readonly string[]} */ keys) => {
  const crowd = keys.flatMap((key) => Array.from({ length: Number(racers) }, () => key))
  const seen = { ran: 0, replayed: 0, refused: 0 }
  for (const outcome of await Promise.all(crowd.map(race))) seen[outcome]++
  process.send?.(seen)
})

/**
 * Comes again while the database is too busy, as a client does.
 *
 * @param {string} key
 * @returns {Promise<'ran' | 'replayed' | 'refused'>}
 */
async function race(key) {
  try {
    const act = async () => appendFileSync(effects, `${key}\n`)
    const { replayed } = await hapax.run({ scope: 'acme', key, policy }, act)
    return replayed ? 'replayed' : 'ran'
  } catch (error) {
    if (isHapaxError(error, 'idempotency_key_in_progress')) return 'refused'
    if (isHapaxError(error, 'idempotency_store_unavailable')) return race(key)
    throw error
  }
}
