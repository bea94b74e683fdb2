/**
 * express-idempotency as its readme says, on Express. The adapter that it comes with keeps a list and searches all of it for
 * each request, so that nothing but the list would be measured: this one is its interface around a map.
 */
import express from 'express'
import { getSharedIdempotencyService, idempotency } from 'express-idempotency'
import { pay } from './payment.mjs'
import { served } from './served.mjs'

const resources = new Map()
const dataAdapter = {
  findByIdempotencyKey: async (key) => resources.get(key) ?? null,
  create: async (resource) => void resources.set(resource.idempotencyKey, resource),
  update: async (resource) => void resources.set(resource.idempotencyKey, resource),
  delete: async (key) => void resources.delete(key),
}

const app = express()
app.post('/payments', express.json(), idempotency({ dataAdapter }), (request, response) => {
  if (getSharedIdempotencyService().isHit(request)) return
  response.status(201).json(pay(request.body))
})
const server = app.listen(0, '127.0.0.1', () => served(server.address().port))
