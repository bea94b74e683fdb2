/**
 * A process on a SQLite file that does what it is told, one JSON line at a time, and says what came of it: to be
 * killed, frozen or raced by a test.
 */
import { createInterface } from 'node:readline'
import { engine, isHapaxError } from 'hapax'
import { sqliteStore } from 'hapax/sqlite'

/**
 * @typedef {object} Order
 * @property {string} key
 * @property {keyof typeof handlers} handler
 * @property {Partial<import('hapax').PolicyOptions>} [policy]
 * @property {string} [gateway] where `charges` sends its request
 */

const [path = '', clockAheadMs = '0'] = process.argv.slice(2)
const trueTime = Date.now
Date.now = () => trueTime() + Number(clockAheadMs)

// Tests move the clock of the file by days in no time: whoever remembers an answer would not notice.
const hapax = engine({ store: sqliteStore({ path }), replayCache: 'off', log: () => {} })

/** @param {object} what */
const say = (what) => void process.stdout.write(`${JSON.stringify(what)}\n`)

const never = new Promise(() => {})
/** @type {(value?: unknown) => void} */
let letGo = () => {}
const told = new Promise((resolve) => {
  letGo = resolve
})

/** @typedef {import('hapax').Work<import('hapax/sqlite').SqliteTransaction>} Work */

const handlers = {
  answers: async () => ({ by: process.pid }),
  hangs: () => never,
  /** @param {Work} _work @param {Order} order */
  charges: async (_work, { gateway = '' }) => (await fetch(gateway, { method: 'POST' })).text(),
  /** @param {Work} work */
  pays: (work) =>
    work.commit(async ({ tx }) => {
      await insertPayment(tx)
      return { by: process.pid }
    }),
  /** @param {Work} work */
  'waits, then pays': async (work) => {
    await told
    return handlers.pays(work)
  },
  /** @param {Work} work @param {Order} order */
  'pays, and never commits': (work, { key }) =>
    work.commit(async ({ tx }) => {
      await insertPayment(tx)
      say({ said: 'inserted', key })
      return never
    }),
}

/** @param {import('hapax/sqlite').SqliteTransaction} tx */
function insertPayment(tx) {
  return tx.run({ sql: 'INSERT INTO payments (made_by) VALUES (?)', parameters: [String(process.pid)] })
}

/** @param {Order} order */
async function run(order) {
  const { key, handler, policy } = order
  try {
    const request = { scope: 'acme', key, policy: hapax.policy({ name: 'payments.create', ...policy }) }
    const { value, replayed } = await hapax.run(request, (work) => {
      say({ said: 'started', key })
      return handlers[handler](work, order)
    })
    say({ said: 'ended', key, value, replayed })
  } catch (error) {
    say({ said: 'ended', key, code: isHapaxError(error) ? error.code : String(error) })
  }
}

await hapax.open()
say({ said: 'ready', key: '' })
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'go') letGo()
  else void run(JSON.parse(line))
}
