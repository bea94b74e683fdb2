import { gunzipSync, gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import cors from '@fastify/cors'
import fastify, { type FastifyInstance, type preHandlerAsyncHookHandler } from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { afterEach, expect, test } from 'vitest'

const apps: FastifyInstance[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

const text = JSON.stringify({ id: 'pay_1', note: 'x'.repeat(3_000) })

/** An application with one guarded route behind a plugin that the whole application uses. */
async function served(register: (app: FastifyInstance) => PromiseLike<unknown>) {
  const hapax = engine({ store: memoryStore() })
  const app = fastify({ forceCloseConnections: true })
  apps.push(app)
  await register(app)
  let runs = 0
  app.post(
    '/payments',
    guard(
      hapax,
      { name: 'payments.create', scope: () => 'acme' },
      {
        handler: async (_request, reply) => {
          runs++
          return reply.code(201).type('application/json').send(text)
        },
      },
    ),
  )
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/payments`
  const ask = (headers: Record<string, string>, init: RequestInit = {}) =>
    fetch(url, { method: 'POST', body: '{}', ...init, headers: { 'content-type': 'application/json', ...headers } })
  return { app, ask, runs: () => runs }
}

async function wire(app: FastifyInstance, encoding: string) {
  const { statusCode, headers, rawPayload } = await app.inject({
    method: 'POST',
    url: '/payments',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'k', 'accept-encoding': encoding },
    payload: '{}',
  })
  return { statusCode, encoding: headers['content-encoding'], replayed: headers['idempotent-replayed'], rawPayload }
}

test.each([
  ['identity', 'gzip'],
  ['gzip', 'identity'],
])(
  'an answer whose first caller asked for %s reaches a retry that asks for %s, in what that one asked for',
  async (...asked) => {
    const { app, runs } = await served((app) =>
      app.register(compress, { threshold: 0, encodings: ['gzip', 'identity'] }),
    )
    for (const [index, encoding] of asked.entries()) {
      const got = await wire(app, encoding)
      expect(got).toMatchObject({ statusCode: 201, encoding: encoding === 'gzip' ? 'gzip' : undefined })
      expect(got.replayed).toBe(index === 0 ? undefined : 'true')
      const bytes = encoding === 'gzip' ? gunzipSync(got.rawPayload) : got.rawPayload
      expect(bytes.toString()).toBe(text)
    }
    expect(runs()).toBe(1)
  },
)

test('what a CORS plugin exposes and what the guard exposes are both exposed, on a replay and on a refusal too', async () => {
  const { ask } = await served((app) =>
    app.register(cors, { origin: 'https://shop.example', exposedHeaders: ['X-Request-Id'] }),
  )
  const exposedBy = (response: Response) => {
    expect(response.headers.get('access-control-allow-origin')).toBe('https://shop.example')
    return (response.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ').sort()
  }
  const page = { origin: 'https://shop.example', 'idempotency-key': 'k' }
  expect(exposedBy(await ask(page))).toEqual(['idempotency-key-expires', 'x-request-id'])
  expect(exposedBy(await ask(page))).toEqual(['idempotency-key-expires', 'idempotent-replayed', 'x-request-id'])
  expect(exposedBy(await ask(page, { body: '{"other":1}' }))).toContain('x-request-id')
})

test('a preflight is answered by the CORS plugin, and the guard has no say in it', async () => {
  const { ask, runs } = await served((app) => app.register(cors, { origin: true, allowedHeaders: ['Idempotency-Key'] }))
  const { status, headers } = await ask(
    { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
    { method: 'OPTIONS', body: null },
  )
  expect(status).toBe(204)
  expect(headers.get('access-control-allow-headers')).toBe('Idempotency-Key')
  expect(runs()).toBe(0)
})

test('a caller whom a plugin refuses gets no answer of before, runs nothing and stores nothing', async () => {
  let isAllowed = true
  const { ask, runs } = await served(async (app) => {
    app.addHook('onRoute', (route) => {
      const refuse: preHandlerAsyncHookHandler = async (_request, reply) =>
        isAllowed ? undefined : reply.code(403).send({ refused: true })
      route.preHandler = [route.preHandler ?? [], refuse].flat()
    })
  })
  expect((await ask({ 'idempotency-key': 'known' })).status).toBe(201)
  isAllowed = false
  expect((await ask({ 'idempotency-key': 'known' })).status).toBe(403)
  expect((await ask({ 'idempotency-key': 'new' })).status).toBe(403)
  expect(runs()).toBe(1)
  isAllowed = true
  const answer = await ask({ 'idempotency-key': 'new' })
  expect([answer.status, answer.headers.get('idempotent-replayed')]).toEqual([201, null])
})

test('a body that a plugin has unwrapped is compared as it is then', async () => {
  const { ask, runs } = await served((app) => app.register(compress))
  const send = (body: string, wrap: boolean) => {
    const wrapped = wrap ? { 'content-encoding': 'gzip' } : {}
    return ask({ 'idempotency-key': 'k', ...wrapped } as Record<string, string>, { body: wrap ? gzipSync(body) : body })
  }
  const statuses = []
  for (const [body, wrap] of [
    ['{"cents":5}', true],
    ['{"cents":5}', false],
    ['{"cents":5}', true],
    ['{"cents":6}', true],
    ['{"cents":6}', false],
  ] as const)
    statuses.push((await send(body, wrap)).status)
  expect(statuses).toEqual([201, 201, 201, 422, 422])
  expect(runs()).toBe(1)
})
