/**
 * @node-idempotency/core has no package for Fastify that can be had, so its two calls stand where its readme says: before the
 * handler, and before the answer leaves.
 */
import process from 'node:process'
import { Idempotency } from '@node-idempotency/core'
import { RedisStorageAdapter } from '@node-idempotency/storage-adapter-redis'
import fastify from 'fastify'
import { pay } from './payment.mjs'
import { served } from './served.mjs'

const { url } = JSON.parse(process.argv[2] ?? '')
const storage = new RedisStorageAdapter({ url })
await storage.connect()
const idempotency = new Idempotency(storage, { enforceIdempotency: true })
const requestOf = ({ method, headers, body, routeOptions }) => ({ method, headers, body, path: routeOptions.url })

const app = fastify()
app.post('/payments', async (request, reply) => {
  const known = await idempotency.onRequest(requestOf(request))
  if (known !== undefined) return reply.code(known.additional.status).send(known.body)
  const body = pay(request.body)
  await idempotency.onResponse(requestOf(request), { body, additional: { status: 201 } })
  return reply.code(201).send(body)
})
await app.listen({ port: 0, host: '127.0.0.1' })
served(app.server.address().port)
