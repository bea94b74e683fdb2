/**
 * The application that is measured, in a process of its own: one route of Fastify, bare or guarded. Everything but the
 * guard is the same.
 */
import process from 'node:process'
import fastify from 'fastify'
import { guard } from 'hapax/fastify'
import { answering } from '../harness/answering.mjs'
import { engineOf } from './engines.mjs'

/**
 * @typedef {object} Settings
 * @property {import('./engines.mjs').Site} site
 * @property {string} [url]
 * @property {import('./watched.mjs').Watcher} [watcher] nobody unless told
 */
/** @typedef {{ readonly Body: object }} Payment */
/**
 * @typedef {object} Usage
 * @property {number} port
 * @property {number} cpuMs processor time so far
 * @property {number} held requests that are in their handler and stay there
 * @property {number} bytes of memory, when asked for
 *
 * @typedef {{ kind: 'usage' | 'release' | 'memory' }} Wanted
 */

/** @type {Settings} */
const { site, url, watcher = 'nobody' } = JSON.parse(process.argv[2] ?? '')
const app = fastify()
let payments = 0
let held = 0
let release = () => {}
/** @type {Promise<void>} */
let released = Promise.resolve()
lock()

/** Those who ask for it are held until all are released. */
function lock() {
  released = new Promise((resolve) => {
    release = resolve
  })
}

/**
 * Answers with the payment that was asked for, so that an answer is as large as its request.
 *
 * @type {import('hapax/fastify').GuardedRoute<never, Payment>['handler']}
 */
async function pay({ body, headers }, reply) {
  payments++
  if (headers['x-hold'] !== undefined) {
    held++
    await released
    held--
  }
  return reply.code(201).send({ id: `pay_${payments}`, status: 'created', .../** @type {object} */ (body) })
}

const hapax = await engineOf(site, url, watcher)
/** @type {import('fastify').RouteShorthandOptionsWithHandler} */
const bare = { handler: /** @type {import('fastify').RouteHandlerMethod} */ (pay) }
const options = { name: 'payments.create', scope: () => 'acme' }
app.post('/payments', hapax === undefined ? bare : guard(hapax, options, { handler: pay }))
await app.listen({ port: 0, host: '127.0.0.1' })
const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())

answering((/** @type {Wanted} */ { kind }) => {
  if (kind === 'release') {
    release()
    lock()
  }
  const { user, system } = process.cpuUsage()
  return { port, cpuMs: (user + system) / 1_000, held, bytes: kind === 'memory' ? bytesInUse() : 0 }
})

/** Needs `--expose-gc`. */
function bytesInUse() {
  for (let time = 0; time < 3; time++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
