import { createRequire } from 'node:module'
import express5 from 'express'
import fastify from 'fastify'
import type { Inbox } from 'hapax'
import { afterEach, describe, expect, test } from 'vitest'
import { listening } from '../support/http-serving.js'
import { airtm, type Host, host, signed } from './given.js'

const express4 = createRequire(import.meta.url)('express4') as typeof express5

/** The recipes of the guide, on real servers: each beside routes that parse JSON, as applications have them. */
type Recipe = (inbox: Inbox) => Promise<{ readonly origin: string; close(): Promise<void> }>

const onExpress =
  (express: typeof express5): Recipe =>
  async (inbox) => {
    const app = express()
    app.post('/webhooks/airtm', express.raw({ type: () => true, limit: '1mb' }), async (request, response) => {
      const { status, headers, body } = await inbox.receive({ headers: request.headers, body: request.body })
      response.status(status).set(headers).send(body)
    })
    app.use(express.json())
    app.post('/orders', (request, response) => void response.json(request.body))
    const { port, close } = await listening(app)
    return { origin: `http://127.0.0.1:${port}`, close }
  }

const onFastify: Recipe = async (inbox) => {
  const app = fastify({ forceCloseConnections: true })
  app.register((webhooks, _options, registered) => {
    webhooks.removeAllContentTypeParsers()
    webhooks.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    webhooks.post<{ Body: Buffer }>('/webhooks/airtm', async (request, reply) => {
      const { status, headers, body } = await inbox.receive({ headers: request.headers, body: request.body })
      return reply.code(status).headers(headers).send(body)
    })
    registered()
  })
  app.post('/orders', async (request) => request.body)
  return { origin: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
}

const recipes: [string, Recipe][] = [
  ['Express 5', onExpress(express5)],
  ['Express 4', onExpress(express4)],
  ['Fastify', onFastify],
]

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function site(recipe: Recipe, hapax: Host) {
  const { origin, close } = await recipe(airtm(hapax))
  closing.push(close)
  return async (init: { headers?: Record<string, string>; body?: string | Uint8Array }, path = '/webhooks/airtm') => {
    const response = await fetch(`${origin}${path}`, { method: 'POST', ...init } as RequestInit)
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }
}

/** A body that nobody would write again in the same bytes. */
const odd =
  '{ "type" : "payment.succeeded",\n "data":{"reference":"dk_\\u0031", "cents": 1.0e2, "cents": 12345678901234567890}}'

describe.each(recipes)('the recipe for %s', (_, recipe) => {
  test.each(['application/json', 'application/json; charset=utf-8', 'text/plain', 'application/x-www-form-urlencoded'])(
    'verifies the bytes of a body that came as %s, and answers duplicates',
    async (type) => {
      const hapax = host()
      const deliver = await site(recipe, hapax)
      const { headers, body } = signed(hapax, { body: odd })
      const delivery = { headers: { ...headers, 'content-type': type }, body }
      const [first, second] = [await deliver(delivery), await deliver(delivery)]
      expect(first).toMatchObject({ status: 200, text: '{"status":"ok"}' })
      expect(second).toMatchObject({ status: 200, text: '{"status":"ok","duplicate":true}' })
      expect(first.type).toMatch(/^application\/json\b/)
      expect(hapax.rows).toEqual(['msg_1'])
      expect(hapax.logged).toEqual([])
    },
  )

  test('verifies a body that came without a type', async () => {
    const hapax = host()
    const { headers, body } = signed(hapax)
    expect((await (await site(recipe, hapax))({ headers, body })).status).toBe(200)
  })

  test('refuses a body that was changed on its way, as a problem', async () => {
    const hapax = host()
    const deliver = await site(recipe, hapax)
    const refused = await deliver({ headers: signed(hapax).headers, body: '{}' })
    expect(refused.status).toBe(401)
    expect(refused.type).toMatch(/^application\/problem\+json\b/)
    expect(JSON.parse(refused.text)).toMatchObject({ code: 'webhook_signature_invalid', status: 401 })
    expect(hapax.steps).toEqual([])
  })

  test('leaves the other routes of the application their JSON', async () => {
    const deliver = await site(recipe, host())
    const { text } = await deliver({ headers: { 'content-type': 'application/json' }, body: '{"a":1}' }, '/orders')
    expect(text).toBe('{"a":1}')
  })
})

test.each([recipes[0], recipes[2]] as [string, Recipe][])(
  'a delivery of nothing is refused on %s',
  async (_, recipe) => {
    expect((await (await site(recipe, host()))({})).status).toBe(401)
  },
)
