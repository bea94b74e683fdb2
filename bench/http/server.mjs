/**
 * The application that is measured, in a process of its own: one route of Fastify, bare or guarded. Everything but the
 * guard is the same. No TypeScript: what translates it on the fly would make every closure slower.
 */
import process from 'node:process'
import fastify from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'

/** @typedef {{ readonly Body: { readonly amountCents: number, readonly currency: string } }} Payment */
/** @typedef {{ readonly port: number, readonly cpuMs: number }} Usage With the processor time so far. */

const app = fastify()
let payments = 0

/** @type {import('hapax/fastify').GuardedRoute<never, Payment>['handler']} */
async function pay({ body: { amountCents, currency } }, reply) {
  payments++
  return reply.code(201).send({ id: `pay_${payments}`, status: 'created', amountCents, currency })
}

const hapax = engine({ store: memoryStore() })
const options = { name: 'payments.create', scope: () => 'acme' }
/** @type {import('fastify').RouteShorthandOptionsWithHandler} */
const bare = { handler: /** @type {import('fastify').RouteHandlerMethod} */ (pay) }
app.post('/payments', process.argv[2] === 'guarded' ? guard(hapax, options, { handler: pay }) : bare)

await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ port, cpuMs: (user + system) / 1_000 })
})
process.on('disconnect', () => process.exit())
