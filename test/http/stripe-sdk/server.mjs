/**
 * A server of charges in the profile of Stripe, as a process with a ledger of its own in a SQLite file. Where it
 * listens, and what happens inside, it says one JSON line at a time; `go` lets the charges that are held go on.
 */
import { createInterface } from 'node:readline'
import fastify from 'fastify'
import { engine, profiles } from 'hapax'
import { guard } from 'hapax/fastify'
import { sqliteStore } from 'hapax/sqlite'

const [path = ''] = process.argv.slice(2)
const hapax = engine({ store: sqliteStore({ path }), log: () => {} })

/** @param {object} what */
const say = (what) => void process.stdout.write(`${JSON.stringify(what)}\n`)
hapax.on('met_in_progress', () => say({ said: 'refused' }))

/** @type {(value?: unknown) => void} */
let letGo = () => {}
const told = new Promise((resolve) => {
  letGo = resolve
})
createInterface({ input: process.stdin }).on('line', letGo)

const app = fastify()
app.addHook('onRequest', async () => say({ said: 'asked' }))
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) =>
  done(null, Object.fromEntries(new URLSearchParams(String(text)))),
)

/** @typedef {{ amount: string, currency: string, description?: 'held' | 'fails' | 'breaks once' }} Form */

let begun = 0
const charges = guard(
  hapax,
  { name: 'charges.create', scope: ({ headers }) => String(headers.authorization), profile: profiles.stripe },
  {
    /** @param {import('hapax/fastify').GuardedRequest<import('hapax/sqlite').SqliteTransaction, { Body: Form }>} request */
    async handler({ body, work }, reply) {
      const { amount, currency, description } = body
      say({ said: 'begun' })
      begun++
      if (description === 'held') await told
      if (description === 'breaks once' && begun === 1) throw new Error('interrupted')
      return work.commit(async ({ tx }) => {
        await tx.run({ sql: 'INSERT INTO charges (amount) VALUES (?)', parameters: [Number(amount)] })
        if (description === 'fails') reply.code(500)
        const error = { type: 'api_error', message: 'It went wrong, and that is the answer.' }
        return description === 'fails' ? { error } : { id: 'ch_1', object: 'charge', amount: Number(amount), currency }
      })
    },
  },
)
app.post('/v1/charges', charges)

await hapax.open()
await app.listen({ port: 0, host: '127.0.0.1' })
say({ said: 'listens', port: app.addresses()[0]?.port })
