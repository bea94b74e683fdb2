/**
 * Restate: its server takes the requests and has the key in a header; the handler is a service that it calls. The server
 * flushes its log before it acknowledges, as it does by default.
 */
import { createServer } from 'node:http2'
import process from 'node:process'
import * as restate from '@restatedev/restate-sdk'
import { pay } from './payment.mjs'
import { served } from './served.mjs'

// Node.js has it from 22 on, and so this kit expects it.
Promise.withResolvers ??= () => {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

const { ingress, admin } = JSON.parse(process.argv[2] ?? '')
const payments = restate.service({ name: 'payments', handlers: { create: async (_context, payment) => pay(payment) } })
const server = createServer(restate.createEndpointHandler({ services: [payments], logger: () => {} }))
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const registered = await fetch(`http://127.0.0.1:${admin}/deployments`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ uri: `http://127.0.0.1:${server.address().port}` }),
})
if (!registered.ok) throw new Error(`Restate did not take the service: ${registered.status} ${await registered.text()}`)
served(ingress)
