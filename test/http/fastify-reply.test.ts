import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { type Engine, engine } from 'hapax'
import { type GuardedRequest, type GuardedRoute, guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { afterEach, describe, expect, test } from 'vitest'
import { gate } from '../support/waiting.js'

const options = { name: 'payments.create', scope: () => 'acme' }
const apps: { close(): Promise<unknown> }[] = []

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

type Handler = (request: GuardedRequest<never>, reply: FastifyReply) => unknown
type Payment = { Body: { cents: number } }

interface Made {
  readonly hapax?: Engine<never>
  readonly more?: Partial<Parameters<typeof guard>[1]>
  readonly route?: Partial<GuardedRoute<never, Payment>>
  readonly around?: (app: FastifyInstance) => void
}

/** An application with the same route guarded and bare, and how often each handler ran. */
async function shop(handler: Handler, { hapax, more, route, around }: Made = {}) {
  const runs = { guarded: 0, bare: 0 }
  const app = fastify({ forceCloseConnections: true })
  apps.push(app)
  app.setErrorHandler((error: Error & { code?: string }, _request, reply) => {
    reply.header('x-error', 'yes')
    if (reply.statusCode < 400) reply.code(418)
    return reply.send({ handled: error.code ?? error.message })
  })
  around?.(app)
  const counted = (which: keyof typeof runs): Handler =>
    function (this: unknown, request, reply) {
      runs[which]++
      return handler.call(this, request, reply)
    }
  const guarded = { ...route, handler: counted('guarded') } as GuardedRoute<never, Payment>
  app.post('/guarded', guard(hapax ?? engine({ store: memoryStore() }), { ...options, ...more }, guarded))
  app.post('/bare', { ...route, handler: counted('bare') } as never)
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'idempotency-key': 'a', 'content-type': 'application/json' }
  const ask = (path = 'guarded', init: RequestInit = {}) =>
    fetch(`${origin}/${path}`, { method: 'POST', body: '{"cents":5}', headers, ...init })
  return { app, ask, runs }
}

async function seen(response: Response): Promise<unknown[]> {
  return [response.status, response.headers.get('content-type'), await response.text()]
}

describe('an answer is serialised as Fastify does it without the guard, at first and on a replay', () => {
  const object = { type: 'object', properties: { a: { type: 'number' } } }
  const answer: Handler = async () => ({ a: 1, b: 2 })
  const angled = (payload: unknown) => `<${JSON.stringify(payload)}>`
  const chunked: Handler = (_request, reply) =>
    reply
      .type('text/x')
      .header('transfer-encoding', 'chunked')
      .send(Readable.from(['a', 'b']))
  const wrap = async (_request: unknown, _reply: unknown, payload: unknown) => ({ a: 3, payload })
  test.each<[string, Handler, Made]>([
    ['by a schema', answer, { route: { schema: { response: { 200: object } } } }],
    [
      'by a schema of its media type',
      answer,
      { route: { schema: { response: { '2xx': { content: { 'application/json': { schema: object } } } } } } },
    ],
    ['by a hook of the route', answer, { route: { preSerialization: wrap } }],
    ['by a hook of the application', answer, { around: (app) => app.addHook('preSerialization', wrap) }],
    [
      'by a hook that a plugin adds to the route',
      answer,
      { around: (app) => app.addHook('onRoute', (route) => void Object.assign(route, { preSerialization: [wrap] })) },
    ],
    ['by a serializer of the application', answer, { around: (app) => app.setReplySerializer(angled) }],
    ['by a serializer of the reply', (_request, reply) => reply.serializer(angled).send({ a: 1 }), {}],
    [
      'by a serializer that a hook set',
      async (_request, reply) => reply.type('text/x').send({ a: 1 }),
      { route: { preHandler: async (_request, reply) => void reply.serializer(angled) } },
    ],
    ['as text', async () => 'text', {}],
    ['as text of a type', async (_request, reply) => reply.type('text/html').send('<p>'), {}],
    ['as JSON of a type', async (_request, reply) => reply.type('application/hal+json').send({ a: 1 }), {}],
    ['as null', async () => null, {}],
    ['as nothing', async () => undefined, {}],
    ['as bytes', async () => Buffer.from('bytes'), {}],
    ['as a stream without a type', async () => Readable.from(['a', 'b'], { objectMode: false }), {}],
    ['as a Response', async () => Response.json({ a: 1 }, { status: 202 }), {}],
    ['framed by itself', chunked, {}],
    ['as what was not found', (_request, reply) => void reply.code(404).send({ none: true }), {}],
    [
      'changed by a hook of the application',
      answer,
      { around: (app) => app.addHook('onSend', async (_request, _reply, payload) => `${payload}!`.toUpperCase()) },
    ],
  ])('%s', async (_how, handler, made) => {
    const { ask, runs } = await shop(handler, made)
    const bare = await seen(await ask('bare'))
    expect(await seen(await ask())).toEqual(bare)
    const second = await ask()
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await seen(second)).toEqual(bare)
    expect(runs.guarded).toBe(1)
  })
})

test('a handler that calls for the not-found handler answers with what that one says', async () => {
  const handler: Handler = (_request, reply) => void reply.callNotFound()
  const { ask, runs } = await shop(handler, {
    around: (app) => app.setNotFoundHandler(async (_request, reply) => reply.code(404).send({ none: true })),
  })
  for (const _ of ['first', 'second']) expect((await seen(await ask()))[2]).toBe('{"none":true}')
  expect(runs.guarded).toBe(1)
})

describe('what goes past reply.send is refused by name, and leaves nothing on the wire', () => {
  test.each<[string, Handler]>([
    ['hijack', (_request, reply) => void reply.hijack()],
    ['raw.end', (_request, reply) => void reply.raw.end('early')],
    ['raw.write', async (_request, reply) => void reply.raw.write('early')],
    ['raw.writeHead', async (_request, reply) => void reply.raw.writeHead(200)],
    ['raw.flushHeaders', async (_request, reply) => void reply.raw.flushHeaders()],
    ['a pipe into raw', (_request, reply) => void Readable.from(['early']).pipe(reply.raw)],
    ['early hints', async (_request, reply) => reply.writeEarlyHints({ link: '</a>; rel=preload' })],
  ])('%s', async (_what, handler) => {
    const { ask } = await shop(handler)
    for (const _ of ['first', 'second'])
      expect((await seen(await ask()))[2]).toBe(JSON.stringify({ handled: 'policy_invalid' }))
  })
})

test('a handler may listen to the raw response, and set headers there', async () => {
  const closed = gate()
  const { ask } = await shop(async (_request, reply) => {
    reply.raw.on('close', closed.open)
    reply.raw.setHeader('x-raw', 'yes')
    return { ended: reply.raw.writableEnded }
  })
  const response = await ask()
  expect([response.headers.get('x-raw'), await response.json()]).toEqual(['yes', { ended: false }])
  await closed.opened
})

test('a handler sees that it has sent, and a second answer changes nothing', async () => {
  const sent: boolean[] = []
  const { ask } = await shop(async (_request, reply) => {
    sent.push(reply.sent)
    reply.send({ first: true })
    sent.push(reply.sent)
    reply.code(500).send({ second: true })
    return { third: true }
  })
  expect(await seen(await ask())).toEqual([200, expect.any(String), '{"first":true}'])
  expect(sent).toEqual([false, true])
})

test('a handler that returns nothing after its caller has gone has answered with nothing', async () => {
  const gone = gate()
  const { ask, runs } = await shop(async (request, reply) => {
    aborting.abort()
    if (!request.socket.destroyed) await once(request.socket, 'close')
    reply.code(204)
    gone.open()
  })
  const aborting = new AbortController()
  await expect(ask('guarded', { signal: aborting.signal })).rejects.toThrow()
  await gone.opened
  const retry = await ask()
  expect([retry.status, retry.headers.get('idempotent-replayed'), runs.guarded]).toEqual([204, 'true', 1])
})

describe('a handler that takes longer than it may', () => {
  const brief = { lease: '100ms', maxRun: '100ms' } as const
  test('stores its answer when it comes, with its own headers, and none reaches the first caller', async () => {
    const hapax = engine({ store: memoryStore() })
    const go = gate()
    const completed = gate()
    hapax.on('completed', () => completed.open())
    const { ask, runs } = await shop(
      async (_request, reply) => {
        await go.opened
        return reply.code(201).header('location', '/payments/1').send({ late: true })
      },
      { hapax, more: brief },
    )
    const first = await ask()
    expect([first.status, first.headers.get('location')]).toEqual([409, null])
    go.open()
    await completed.opened
    const second = await ask()
    expect(second.headers.get('location')).toBe('/payments/1')
    expect(await seen(second)).toEqual([201, 'application/json; charset=utf-8', '{"late":true}'])
    expect(runs.guarded).toBe(1)
  })

  test('may fail then, and nobody falls over it', async () => {
    const hapax = engine({ store: memoryStore() })
    const go = gate()
    const over = gate()
    for (const event of ['failed', 'doubted', 'released', 'claim_lost'] as const) hapax.on(event, () => over.open())
    const { ask } = await shop(() => go.opened.then(() => Promise.reject(new Error('late'))), { hapax, more: brief })
    expect((await ask()).status).toBe(409)
    go.open()
    await over.opened
    expect((await ask('bare')).status).toBe(418)
  })
})

test('hooks of the application see the stored body on a replay, and one that throws has no say in the next', async () => {
  const payloads: unknown[] = []
  const { ask, runs } = await shop(async () => ({ ok: true }), {
    around: (app) =>
      app.addHook('onSend', async (_request, _reply, payload) => {
        payloads.push(payload)
        if (payloads.length === 2) throw new Error('broken')
        return payload
      }),
  })
  expect((await ask()).status).toBe(200)
  const broken = await ask()
  expect([broken.status, broken.headers.get('x-error'), await broken.text()]).toEqual([
    418,
    'yes',
    '{"handled":"broken"}',
  ])
  const third = await ask()
  expect([third.status, third.headers.get('x-error'), await third.text()]).toEqual([200, null, '{"ok":true}'])
  expect(payloads.filter((payload) => payload !== '{"handled":"broken"}')).toEqual(Array(3).fill('{"ok":true}'))
  expect(runs.guarded).toBe(1)
})

test('what a handler does to its reply holds as without the guard: what it decorates, sets, removes and fails with', async () => {
  const mark = Symbol('mark')
  const handler: Handler = async function (this: unknown, request, reply) {
    Object.assign(reply, {
      note: `by ${(this as FastifyInstance).version}`,
    })
    reply.removeHeader('x-before').header('x-handler', 'yes').code(402)
    if (request.headers['idempotency-key'] === 'fails') throw new Error('broken')
    return { ok: true }
  }
  const { ask } = await shop(handler, {
    around: (app) => {
      app.decorateReply('note', '')
      app.addHook('onRequest', async (_request, reply) => void reply.header('x-before', 'yes'))
      app.addHook('onSend', async (_request, reply) => {
        const { note, [mark]: marked } = reply as FastifyReply & { note: string; [mark]?: string }
        reply.header('x-note', `${note} ${marked}`)
      })
    },
  })
  for (const key of ['fails', 'answers']) {
    const headers = { 'idempotency-key': key, 'content-type': 'application/json' }
    const [bare, guarded] = [await ask('bare', { headers }), await ask('guarded', { headers })]
    for (const name of ['x-before', 'x-handler', 'x-note', 'x-error'])
      expect([name, guarded.headers.get(name)]).toEqual([name, bare.headers.get(name)])
    expect(await seen(guarded)).toEqual(await seen(bare))
  }
})

test('the hooks of an error see it once, when the handler sends it too', async () => {
  const errors: string[] = []
  const { ask } = await shop((_request, reply) => void reply.send(new Error('broken')), {
    around: (app) => app.addHook('onError', async (_request, _reply, error) => void errors.push(error.message)),
  })
  expect((await ask()).status).toBe(418)
  expect(errors).toEqual(['broken'])
})

test('a body that a hook replaces before the guard is the one that is compared', async () => {
  let cents = 1
  const { ask, runs } = await shop(async ({ body }) => body, {
    around: (app) =>
      app.addHook('preParsing', async (request) => {
        const receivedEncodedLength = Number(request.headers['content-length'])
        return Object.assign(Readable.from([Buffer.from(`{"cents":${cents}}`)]), { receivedEncodedLength })
      }),
  })
  expect(await (await ask()).json()).toEqual({ cents: 1 })
  expect(await (await ask()).json()).toEqual({ cents: 1 })
  cents = 2
  expect((await ask()).status).toBe(422)
  expect(runs.guarded).toBe(1)
})

test('a route that is typed by Fastify is typed for its handler, and HTTP/2 is served alike', async () => {
  const app = fastify({ http2: true })
  apps.push(app)
  const hapax = engine({ store: memoryStore() })
  app.post<Payment>(
    '/payments',
    guard(hapax, options, {
      handler: async ({ body }) => {
        const cents: number = body.cents
        return { cents }
      },
    }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const client = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  for (const replayed of [undefined, 'true']) {
    const headers = { ':method': 'POST', 'idempotency-key': 'a', 'content-type': 'application/json' }
    const stream = client.request({ ...headers, ':path': '/payments' })
    stream.end('{"cents":5}')
    const [got] = (await once(stream, 'response')) as [Record<string, unknown>]
    expect([got[':status'], got['idempotent-replayed'], await text(stream)]).toEqual([200, replayed, '{"cents":5}'])
  }
  client.close()
})
