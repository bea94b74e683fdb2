import { createRequire } from 'node:module'
import express from 'express'
import { fastify } from 'fastify'
import { engine } from 'hapax'
import { routeCollector, routesOf } from 'hapax/admin'
import { guard as guardExpress } from 'hapax/express'
import { guard as guardFastify } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { expect, test } from 'vitest'

const express4 = createRequire(import.meta.url)('express4') as typeof express

/** Which routes change something, and which of them nothing guards. */

const hapax = engine({ store: memoryStore(), log: () => {} })
const options = { name: 'payments.create', scope: () => 'acme' }
const handler = async () => ({})

function fastifyApp() {
  const app = fastify()
  const routes = routeCollector(app as never, { exempt: ['POST /login'] })
  app.post('/payments', guardFastify(hapax, options, { handler }))
  app.post('/refunds', handler)
  app.post('/login', handler)
  app.put('/users/:id', handler)
  app.get('/payments', handler)
  app.register(async (inner) => void inner.patch('/orders', handler), { prefix: '/v1' })
  return { app, routes }
}

const wanted = [
  { method: 'POST', path: '/payments', verdict: 'guarded' },
  { method: 'POST', path: '/refunds', verdict: 'gap' },
  { method: 'POST', path: '/login', verdict: 'exempt' },
  { method: 'PUT', path: '/users/:id', verdict: 'idempotent' },
  { method: 'PATCH', path: '/v1/orders', verdict: 'gap' },
] as const

test('of Fastify, as they are added', async () => {
  const { app, routes } = fastifyApp()
  await app.ready()
  expect(routes()).toMatchObject(wanted)
  expect(routes()[0]?.by).toBe('payments.create')
})

test('of Fastify, when they are all there', async () => {
  const { app } = fastifyApp()
  const found = await routesOf(app, { exempt: ['POST /log*'] })
  expect(found).toHaveLength(wanted.length)
  expect(found).toEqual(expect.arrayContaining(wanted.map((route) => expect.objectContaining(route))))
})

test.each([
  ['5', express],
  ['4', express4],
])('of Express %s, with routers in it', async (_, framework) => {
  const app = framework()
  app.post(
    '/payments',
    guardExpress(hapax, options, (_request, response) => void response.json({})),
  )
  app.post('/refunds', (_request, response) => void response.json({}))
  const router = framework.Router()
  router.patch('/orders', (_request, response) => void response.json({}))
  app.use('/v1', router)
  app.get('/payments', (_request, response) => void response.json({}))
  expect(await routesOf(app)).toMatchObject([
    { method: 'POST', path: '/payments', verdict: 'guarded' },
    { method: 'POST', path: '/refunds', verdict: 'gap' },
    { method: 'PATCH', path: '…/orders', verdict: 'gap' },
  ])
})

test('of an OpenAPI document, by the header that they take', async () => {
  const parameters = [{ $ref: '#/components/parameters/Key' }]
  const document = {
    openapi: '3.1.0',
    paths: {
      '/payments': { post: { operationId: 'pay', parameters }, get: {} },
      '/refunds': { post: { parameters: [{ in: 'query', name: 'idempotency-key' }] } },
    },
    components: { parameters: { Key: { in: 'header', name: 'Idempotency-Key' } } },
  }
  expect(await routesOf(document)).toMatchObject([
    { path: '/payments', verdict: 'guarded', by: 'pay' },
    { path: '/refunds', verdict: 'gap' },
  ])
})

test('what is none of these is refused', async () => {
  await expect(routesOf({ hello: 1 })).rejects.toMatchObject({ code: 'policy_invalid' })
})
