import { AsyncLocalStorage } from 'node:async_hooks'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { type Engine, engine } from 'hapax'
import { type GuardedRequest, guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { type SqliteTransaction, sqliteStore } from 'hapax/sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { faultyStore } from '../support/faulty-store.js'
import { gate, until } from '../support/waiting.js'

const options = { name: 'payments.create', scope: () => 'acme' }
const apps: FastifyInstance[] = []

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

async function served(app: FastifyInstance): Promise<string> {
  apps.push(app)
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/payments`
}

function post(url: string, key: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json', ...init.headers }
  return fetch(url, { method: 'POST', body: '{"cents":5}', redirect: 'manual', ...init, headers })
}

type Handler<Tx> = (request: GuardedRequest<Tx, { Body: { cents: number } }>, reply: FastifyReply) => unknown

function application(): FastifyInstance {
  const app = fastify({ forceCloseConnections: true })
  app.setErrorHandler((error: Error & { code?: string }, _request, reply) =>
    reply.code(418).send({ handled: error.code ?? error.message }),
  )
  return app
}

/** An application with one guarded route, and how often its handler ran. */
async function shop<Tx = never>(
  handler: Handler<Tx>,
  more: Partial<Parameters<typeof guard>[1]> = {},
  hapax = engine({ store: memoryStore() }) as unknown as Engine<Tx>,
) {
  const runs = { count: 0 }
  const app = application()
  const counted: Handler<Tx> = (request, reply) => {
    runs.count++
    return handler(request, reply)
  }
  const route = guard<Tx, { Body: { cents: number } }>(hapax, { ...options, ...more }, { handler: counted })
  app.route({ method: ['GET', 'POST'], url: '/payments', ...route })
  return { url: await served(app), runs, app }
}

test('the first runs, and the second gets its status, kept headers and bytes, but no cookie', async () => {
  const { url, runs } = await shop<never>(async (request, reply): Promise<unknown> => {
    reply.code(201).header('Set-Cookie', ['a=secret', 'b=secret']).header('Location', '/payments/1')
    return { got: request.body, run: runs.count }
  })
  const first = await post(url, 'a')
  const second = await post(url, 'a')
  expect([first.status, await first.text()]).toEqual([201, '{"got":{"cents":5},"run":1}'])
  expect(first.headers.getSetCookie()).toEqual(['a=secret', 'b=secret'])
  expect([second.status, await second.text()]).toEqual([201, '{"got":{"cents":5},"run":1}'])
  expect(second.headers.get('location')).toBe('/payments/1')
  expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect(second.headers.get('idempotent-replayed')).toBe('true')
  expect(second.headers.getSetCookie()).toEqual([])
  expect(runs.count).toBe(1)
})

test('of twenty callers with one key one runs, and all get its bytes', async () => {
  const started = gate()
  const go = gate()
  const { url, runs } = await shop<never>(
    async (): Promise<unknown> => {
      started.open()
      await go.opened
      return { run: runs.count }
    },
    { concurrency: 'wait' },
  )
  const callers = Array.from({ length: 20 }, () => post(url, 'a'))
  await started.opened
  go.open()
  const texts = await Promise.all(callers.map(async (caller) => (await caller).text()))
  expect(new Set(texts)).toEqual(new Set(['{"run":1}']))
  expect(runs.count).toBe(1)
})

describe('a handler may answer as Fastify lets it', () => {
  const bytes = () => [Buffer.from([0, 255]), Buffer.from('abc')]
  test.each<[string, Handler<never>]>([
    ['by reply.send', (_request, reply) => void reply.send(Buffer.concat(bytes()))],
    [
      'by reply.send in an async handler that returns nothing',
      async (_request, reply) => void reply.send(Buffer.concat(bytes())),
    ],
    ['by the reply that it returns', async (_request, reply) => reply.send(Buffer.concat(bytes()))],
    ['by a value', async () => Buffer.concat(bytes())],
    ['by a stream', async () => Readable.from(bytes(), { objectMode: false })],
    ['by a stream of the web', async (_request, reply) => reply.send(Readable.toWeb(Readable.from(bytes())))],
    ['by a Response', async () => new Response(new Uint8Array(Buffer.concat(bytes())))],
  ])('%s', async (_how, handler) => {
    const { url, runs } = await shop<never>(handler)
    for (const _ of ['first', 'second']) {
      const response = await post(url, 'a')
      expect(response.status).toBe(200)
      expect(Buffer.from(await response.arrayBuffer()).toString('hex')).toBe('00ff616263')
    }
    expect(runs.count).toBe(1)
  })
})

test('an empty answer and a redirect are replayed as they are', async () => {
  const { url, runs } = await shop<never>(async (request, reply) =>
    request.body.cents === 5 ? reply.code(204).send() : reply.redirect('/elsewhere', 303),
  )
  for (const _ of ['first', 'second']) {
    const empty = await post(url, 'a')
    expect([empty.status, await empty.text(), empty.headers.get('content-type')]).toEqual([204, '', null])
    const redirect = await post(url, 'b', { body: '{"cents":6}' })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([303, '/elsewhere'])
  }
  expect(runs.count).toBe(2)
})

test.each<[string, Handler<never>]>([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
  ['sends an error', (_request, reply) => void reply.send(new Error('broken'))],
  [
    'sends a stream that breaks',
    async () =>
      Readable.from(
        (function* () {
          yield 'half'
          throw new Error('broken')
        })(),
      ),
  ],
])('a handler that %s reaches the error handler, and runs again', async (_how, fails) => {
  const { url, runs } = await shop<never>((request, reply): unknown =>
    runs.count === 1 ? fails(request, reply) : reply.send({ ok: true }),
  )
  const first = await post(url, 'a')
  expect([first.status, await first.json()]).toEqual([418, { handled: 'broken' }])
  const second = await post(url, 'a')
  expect([second.status, await second.json()]).toEqual([200, { ok: true }])
  expect(second.headers.get('idempotent-replayed')).toBeNull()
  expect(runs.count).toBe(2)
})

test('a failure that the policy stores is replayed and does not run again', async () => {
  const { url, runs } = await shop<never>(() => Promise.reject(new Error('broken')), { onError: 'store' })
  const first = await post(url, 'a')
  const second = await post(url, 'a')
  expect([first.status, second.status]).toEqual([500, 500])
  expect(await second.text()).toBe(await first.text())
  expect(runs.count).toBe(1)
})

test('nothing is sent before the answer is durable', async () => {
  const faults = faultyStore(memoryStore())
  faults.breakAt('complete', 'hangs', 1)
  const hapax = engine({ store: faults.store, storeTimeout: '30s' })
  const { url } = await shop<never>(async (_request, reply) => reply.code(201).send({ ok: true }), {}, hapax)
  let isAnswered = false
  const answer = post(url, 'a').then((response) => {
    isAnswered = true
    return response
  })
  await until(
    async () => faults.asked.get('complete'),
    (count) => count === 1,
  )
  // Another request goes all the way there and back, so an answer that had left would be here.
  expect((await fetch(`${url}/none`)).status).toBe(404)
  expect(isAnswered).toBe(false)
  faults.mend()
  expect((await answer).status).toBe(201)
})

describe('rows and the answer of work.commit are one', () => {
  test.each<[string, Handler<SqliteTransaction>]>([
    [
      'when it returns a value',
      (request, reply) =>
        request.work.commit(async ({ tx }) => {
          await tx.run({ sql: 'create table payments (id integer)', parameters: [] })
          reply.code(201)
          return { id: 1 }
        }),
    ],
    [
      'when it sends the reply',
      async (request, reply) => {
        await request.work.commit(async ({ tx }) => {
          await tx.run({ sql: 'create table payments (id integer)', parameters: [] })
          return reply.code(201).send({ id: 1 })
        })
      },
    ],
  ])('%s', async (_how, handler) => {
    const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
    const { url, runs } = await shop(handler, {}, hapax)
    const first = await post(url, 'a')
    expect([first.status, await first.text()]).toEqual([201, '{"id":1}'])
    const second = await post(url, 'a')
    expect([second.status, await second.text()]).toEqual([201, '{"id":1}'])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(runs.count).toBe(1)
    await hapax.close()
  })

  test.each(['lets its error through', 'catches its error'])(
    'and a commit that fails after the reply was sent leaves no answer, when its handler %s',
    async (how) => {
      const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
      const { url, runs } = await shop<SqliteTransaction>(
        async (request, reply): Promise<unknown> => {
          const commit = request.work.commit(async ({ tx }) => {
            await tx.run({ sql: 'create table payments (id integer)', parameters: [] })
            await reply.code(201).send({ run: runs.count })
            if (runs.count === 1) throw new Error('broken')
          })
          await (how === 'catches its error' ? commit.catch(() => {}) : commit)
          return reply
        },
        {},
        hapax,
      )
      const first = await post(url, 'a')
      expect([first.status, await first.json()]).toEqual([418, { handled: 'broken' }])
      const second = await post(url, 'a')
      expect([second.status, await second.json()]).toEqual([201, { run: 2 }])
      await hapax.close()
    },
  )

  test('and a commit without an answer says so by name', async () => {
    const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
    let refusal: unknown
    const { url } = await shop<SqliteTransaction>(
      async (request) => {
        await request.work
          .commit(async () => {})
          .catch((error: unknown) => {
            refusal = error
          })
        return { ok: true }
      },
      {},
      hapax,
    )
    await post(url, 'a')
    expect(refusal).toMatchObject({ code: 'handler_failed', message: expect.stringContaining('inside work.commit') })
    await hapax.close()
  })
})

test('a body over the limit is refused, and nothing runs', async () => {
  const { url, runs } = await shop<never>(async () => ({}), { bodyLimit: 20 })
  const response = await post(url, 'a', { body: `{"note":"${'x'.repeat(300_000)}"}` })
  expect([response.status, await response.json()]).toEqual([413, expect.objectContaining({ code: 'body_too_large' })])
  expect(runs.count).toBe(0)
})

test('a body is compared by its bytes as they came, however long', async () => {
  const { url, runs } = await shop<never>(async (request) => ({ cents: String(request.body.cents).length }))
  const body = `{"cents":"${'1'.repeat(300_000)}"}`
  for (const _ of ['first', 'second']) expect(await (await post(url, 'a', { body })).json()).toEqual({ cents: 300_000 })
  expect((await post(url, 'a', { body: '{"cents":"2"}' })).status).toBe(422)
  expect(runs.count).toBe(1)
})

test('what the hooks of the route refuse takes no key, and they keep their place before the guard', async () => {
  const app = application()
  const seen: string[] = []
  const route = guard(engine({ store: memoryStore() }), options, {
    schema: { body: { type: 'object', required: ['cents'] } },
    preHandler: async (request, reply) => {
      seen.push('preHandler')
      if (request.headers.authorization === undefined) return reply.code(401).send({ refused: true })
    },
    onSend: async (_request, reply, payload) => {
      reply.header('Content-Encoding', 'gzip').removeHeader('content-length')
      return gzipSync(payload as Buffer)
    },
    handler: async () => ({ ok: seen.push('handler') > 0 }),
  })
  app.post('/payments', route)
  const url = await served(app)
  expect((await post(url, 'a')).status).toBe(401)
  expect(await (await post(url, 'a', { body: '{}' })).json()).toEqual({ handled: 'FST_ERR_VALIDATION' })
  for (const _ of ['first', 'second']) {
    const response = await post(url, 'a', { headers: { Authorization: 'me' } })
    expect([response.headers.get('content-encoding'), await response.text()]).toEqual(['gzip', '{"ok":true}'])
  }
  expect(seen).toEqual(['preHandler', 'preHandler', 'handler', 'preHandler'])
})

test('a scope that throws reaches the error handler, and nothing runs', async () => {
  const { url, runs } = await shop<never>(async () => ({}), { scope: () => Promise.reject(new Error('nobody')) })
  const response = await post(url, 'a')
  expect([response.status, await response.json()]).toEqual([418, { handled: 'nobody' }])
  expect(runs.count).toBe(0)
})

test('a method that is not guarded goes straight to the handler', async () => {
  const { url, runs } = await shop<never>(async (request) => ({ generation: request.work.generation }))
  for (const _ of ['first', 'second']) expect(await (await fetch(url)).json()).toEqual({ generation: 0 })
  expect(runs.count).toBe(2)
})

test('a request by inject is guarded like one from the wire', async () => {
  const { app, runs } = await shop<never>(async (request) => request.body)
  const headers = { 'idempotency-key': 'a' }
  for (const _ of ['first', 'second']) {
    const response = await app.inject({ method: 'POST', url: '/payments', headers, payload: { cents: 5 } })
    expect(response.json()).toEqual({ cents: 5 })
  }
  expect(runs.count).toBe(1)
})

test('requests that come together each run in the context of their own', async () => {
  const tenants = new AsyncLocalStorage<string>()
  const app = application()
  app.addHook('onRequest', (request, _reply, done) => tenants.run(String(request.headers['x-tenant']), done))
  const handler = async () => ({
    at: tenants.getStore(),
    later: await Promise.resolve().then(() => tenants.getStore()),
  })
  app.post('/payments', guard(engine({ store: memoryStore() }), options, { handler }))
  const ask = async (tenant: string) => {
    const headers = { 'idempotency-key': `key-of-${tenant}`, 'x-tenant': tenant }
    return (await app.inject({ method: 'POST', url: '/payments', headers, payload: { cents: 5 } })).json()
  }
  expect(await Promise.all([ask('acme'), ask('globex')])).toEqual([
    { at: 'acme', later: 'acme' },
    { at: 'globex', later: 'globex' },
  ])
})
