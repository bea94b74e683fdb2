/** An application that books payments, with Hapax around the transaction or without, in a process of its own. */
import process from 'node:process'
import { engine } from 'hapax'
import { postgresStore } from 'hapax/postgres'
import pg from 'pg'
import { answering } from '../harness/answering.mjs'
import { closedLoop } from '../harness/loops.mjs'
import { accounts, book } from './booking.mjs'

/** @typedef {{ url: string, connections: number }} Settings */
/** @typedef {{ way: 'bare' | 'hapax', concurrency: number, seconds: number }} Wanted */

/** @type {Settings} */
const { url, connections } = JSON.parse(process.argv[2] ?? '')
const pool = new pg.Pool({ connectionString: url, max: connections })
pool.on('error', () => undefined)
const hapax = engine({ store: postgresStore({ pool, connection: 'direct' }) })
const policy = hapax.policy({ name: 'payments.book', mode: 'transaction' })
const isOpen = hapax.open()

/** @param {string} key */
const payment = (key) => ({ reference: key, account: Math.floor(Math.random() * accounts), cents: 1_250 })

/** @type {Record<Wanted['way'], import('../harness/loops.mjs').Once>} */
const ways = {
  async bare(key) {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await book(client, payment(key))
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  },
  async hapax(key) {
    const input = payment(key)
    await hapax.run({ scope: 'acme', key, input, policy }, (work) => work.commit(({ tx }) => book(tx, input)))
  },
}

answering(async (/** @type {Wanted} */ { way, ...wanted }) => {
  await isOpen
  return closedLoop(ways[way], wanted)
})
