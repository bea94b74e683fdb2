import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import express5, { type Express, type NextFunction, type Request, type Response } from 'express'
// @ts-expect-error: Express 4 comes without types; what is used of it here is as in Express 5.
import untyped from 'express4'
import { engine, type HapaxError } from 'hapax'
import { type ExpressHandler, guard, keepRawBody } from 'hapax/express'
import { memoryStore } from 'hapax/memory'
import { sqliteStore } from 'hapax/sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { faultyStore } from '../support/faulty-store.js'
import { gate, until } from '../support/waiting.js'

const express4: typeof express5 = untyped
const options = { name: 'payments.create', scope: () => 'acme' }
const servers: Server[] = []

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function served(app: Express): Promise<string> {
  const server = createServer(app).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`
}

function post(url: string, key: string, init: RequestInit = {}): Promise<globalThis.Response> {
  const headers = { 'Idempotency-Key': key, 'Content-Type': 'application/json', ...init.headers }
  return fetch(url, { method: 'POST', body: '{"cents":5}', redirect: 'manual', ...init, headers })
}

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('%s', (_name, express) => {
  const onMemory = () => engine({ store: memoryStore() })

  /** An application with one guarded route, and how often its handler ran. */
  async function shop(handler: ExpressHandler<never>, more: Partial<Parameters<typeof guard>[1]> = {}) {
    const runs = { count: 0 }
    const app = express()
    const counted: ExpressHandler<never> = (request, response, next) => {
      runs.count++
      return handler(request, response, next)
    }
    const guarded = guard(onMemory(), { ...options, ...more }, counted)
    app.use('/payments', express.json({ verify: keepRawBody }))
    app.all('/payments', guarded)
    app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
      response.status(418).json({ handled: error.message })
    })
    return { url: await served(app), runs }
  }

  test('the first runs, and the second gets its status, kept headers and bytes, but no cookie', async () => {
    const { url, runs } = await shop((request, response) => {
      response
        .cookie('session', 'secret')
        .location('/payments/1')
        .status(201)
        .json({ got: request.body, run: runs.count })
    })
    const first = await post(url, 'a')
    const second = await post(url, 'a')
    expect(first.status).toBe(201)
    expect(await first.text()).toBe('{"got":{"cents":5},"run":1}')
    expect(first.headers.get('set-cookie')).toContain('secret')
    expect(second.status).toBe(201)
    expect(await second.text()).toBe('{"got":{"cents":5},"run":1}')
    expect(second.headers.get('location')).toBe('/payments/1')
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('set-cookie')).toBeNull()
    expect(runs.count).toBe(1)
  })

  test('of twenty callers with one key one runs, and all get its bytes', async () => {
    const started = gate()
    const go = gate()
    const { url, runs } = await shop(
      async (_request, response) => {
        started.open()
        await go.opened
        response.json({ run: runs.count })
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

  test.each<[string, ExpressHandler<never>]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['gives an error to next', (_request, _response, next) => next(new Error('broken'))],
    [
      'throws in the middle of its response',
      (_request, response) => {
        response.status(201).set('Location', '/half').write('half')
        throw new Error('broken')
      },
    ],
  ])('a handler that %s reaches the error handler with nothing sent, and runs again', async (_how, fails) => {
    const { url, runs } = await shop((request, response, next) =>
      runs.count === 1 ? fails(request, response, next) : response.json({ ok: true }),
    )
    const first = await post(url, 'a')
    expect(first.status).toBe(418)
    expect(first.headers.get('location')).toBeNull()
    expect(await first.json()).toEqual({ handled: 'broken' })
    const second = await post(url, 'a')
    expect(await second.json()).toEqual({ ok: true })
    expect(second.headers.get('idempotent-replayed')).toBeNull()
    expect(runs.count).toBe(2)
  })

  test('a failure that the policy stores is replayed and does not run again', async () => {
    const { url, runs } = await shop(() => Promise.reject(new Error('broken')), { onError: 'store' })
    const first = await post(url, 'a')
    const second = await post(url, 'a')
    expect([first.status, second.status]).toEqual([500, 500])
    expect(await second.text()).toBe(await first.text())
    expect(runs.count).toBe(1)
  })

  test.each<[string, (response: Response) => unknown]>([
    ['pipes', (response) => Readable.from([Buffer.from([0, 255]), Buffer.from('abc')]).pipe(response)],
    [
      'waits for a pipeline',
      (response) => pipeline(Readable.from([Buffer.from([0, 255]), Buffer.from('abc')]), response),
    ],
    [
      'writes piece by piece',
      (response) => {
        response.writeHead(200, { 'Content-Type': 'application/octet-stream' })
        response.write('00ff', 'hex', () => response.end('abc'))
      },
    ],
  ])('a handler that %s has its bytes replayed', async (_how, write) => {
    const { url, runs } = await shop((_request, response) => write(response))
    for (const _ of ['first', 'second']) {
      const bytes = Buffer.from(await (await post(url, 'a')).arrayBuffer())
      expect(bytes.toString('hex')).toBe('00ff616263')
    }
    expect(runs.count).toBe(1)
  })

  test('an empty answer and a redirect are replayed as they are', async () => {
    const { url, runs } = await shop((request, response) =>
      request.body.cents === 5 ? response.status(204).end() : response.redirect(303, '/elsewhere'),
    )
    for (const _ of ['first', 'second']) {
      const empty = await post(url, 'a')
      expect([empty.status, await empty.text()]).toEqual([204, ''])
      const redirect = await post(url, 'b', { body: '{"cents":6}' })
      expect([redirect.status, redirect.headers.get('location')]).toEqual([303, '/elsewhere'])
    }
    expect(runs.count).toBe(2)
  })

  test('nothing is sent before the answer is durable', async () => {
    const faults = faultyStore(memoryStore())
    faults.breakAt('complete', 'hangs', 1)
    const app = express()
    const hapax = engine({ store: faults.store, storeTimeout: '30s' })
    app.post(
      '/payments',
      guard(hapax, options, (_request, response) => void response.status(201).json({ ok: true })),
    )
    let isAnswered = false
    const answer = post(await served(app), 'a').then((response) => {
      isAnswered = true
      return response
    })
    await until(
      async () => faults.asked.get('complete'),
      (count) => count === 1,
    )
    // Another request goes all the way there and back, so an answer that had left would be here.
    expect((await fetch(`${await served(app)}`)).status).toBe(404)
    expect(isAnswered).toBe(false)
    faults.mend()
    expect((await answer).status).toBe(201)
  })

  test('rows and a response that is written inside work.commit are one', async () => {
    const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
    const app = express()
    const handler = guard(hapax, options, async (request, response) => {
      const id = await request.work.commit(async ({ tx }) => {
        await tx.run({ sql: 'create table payments (id integer primary key)', parameters: [] })
        response.status(201).json({ id: 1 })
        return 1
      })
      expect(id).toBe(1)
    })
    app.post('/payments', handler)
    const url = await served(app)
    const first = await post(url, 'a')
    expect([first.status, await first.text()]).toEqual([201, '{"id":1}'])
    const second = await post(url, 'a')
    expect([second.status, await second.text()]).toEqual([201, '{"id":1}'])
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    await hapax.close()
  })

  test.each(['lets its error through', 'catches its error'])(
    'a commit that fails after its response was written leaves no answer, when its handler %s',
    async (how) => {
      const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
      const app = express()
      let runs = 0
      const handler = guard(hapax, options, async (request, response) => {
        runs++
        const commit = request.work.commit(async ({ tx }) => {
          response.status(201).json({ run: runs })
          await tx.run({ sql: 'create table payments (id integer)', parameters: [] })
          if (runs === 1) throw new Error('broken')
        })
        await (how === 'catches its error' ? commit.catch(() => {}) : commit)
      })
      app.post('/payments', handler)
      app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
        response.status(418).json({ handled: error.message })
      })
      const url = await served(app)
      const first = await post(url, 'a')
      expect([first.status, await first.json()]).toEqual([418, { handled: 'broken' }])
      const second = await post(url, 'a')
      expect([second.status, await second.json()]).toEqual([201, { run: 2 }])
      await hapax.close()
    },
  )

  test('a commit without a response says where to write it, and nothing is committed', async () => {
    const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
    const app = express()
    let refusal: unknown
    const handler = guard(hapax, options, async (request, response) => {
      await request.work
        .commit(async ({ tx }) => tx.run({ sql: 'create table payments (id integer)', parameters: [] }))
        .catch((error: unknown) => {
          refusal = error
        })
      response.json({ ok: true })
    })
    app.post('/payments', handler)
    await post(await served(app), 'a')
    expect(refusal).toMatchObject({ code: 'handler_failed', message: expect.stringContaining('inside work.commit') })
    await hapax.close()
  })

  test('a body over the limit is refused, with a parser before the guard and without', async () => {
    const { url, runs } = await shop((_request, response) => response.json({}), { bodyLimit: 20 })
    const long = '{"cents":5,"note":"twenty and more"}'
    const parsed = await post(url, 'a', { body: long })
    expect([parsed.status, await parsed.json()]).toEqual([413, expect.objectContaining({ code: 'body_too_large' })])
    const unparsed = await post(url, 'a', { body: long, headers: { 'Content-Type': 'text/plain' } })
    expect([unparsed.status, await unparsed.json()]).toEqual([413, expect.objectContaining({ code: 'body_too_large' })])
    expect(runs.count).toBe(0)
  })

  test('a parser behind the guard finds the whole body, long or empty', async () => {
    const app = express()
    const router = express.Router()
    router.use(express.text({ limit: '1mb' }), (request: Request, response: Response) => {
      response.json({ length: typeof request.body === 'string' ? request.body.length : 0 })
    })
    app.post('/payments', guard(onMemory(), options, router))
    const url = await served(app)
    for (const length of [300_000, 1, 0]) {
      const init = { body: 'x'.repeat(length), headers: { 'Content-Type': 'text/plain' } }
      for (const _ of ['first', 'second'])
        expect(await (await post(url, `k${length}`, init)).json()).toEqual({ length })
      const chunked = { ...init, body: Readable.toWeb(Readable.from(length === 0 ? [] : [init.body])), duplex: 'half' }
      expect(await (await post(url, `c${length}`, chunked as RequestInit)).json()).toEqual({ length })
      expect((await post(url, `k${length}`, { ...init, body: 'other' })).status).toBe(422)
    }
  })

  test('a compressed body that a parser has unfolded is the same request as the plain one', async () => {
    const { url, runs } = await shop((request, response) => response.json(request.body))
    const wrapped = { body: new Uint8Array(gzipSync('{"cents":5}')), headers: { 'Content-Encoding': 'gzip' } }
    expect(await (await post(url, 'a', wrapped)).json()).toEqual({ cents: 5 })
    expect(await (await post(url, 'a')).json()).toEqual({ cents: 5 })
    expect(runs.count).toBe(1)
  })

  test('a body that was parsed without its bytes is an error that says what to write', async () => {
    const app = express()
    const errors: HapaxError[] = []
    app.use(express.json())
    app.post(
      '/payments',
      guard(onMemory(), options, (_request, response) => void response.json({})),
    )
    app.use((error: HapaxError, _request: Request, response: Response, _next: NextFunction) => {
      errors.push(error)
      response.status(500).end()
    })
    await post(await served(app), 'a')
    expect(errors).toEqual([
      expect.objectContaining({ code: 'policy_invalid', message: expect.stringContaining('verify: keepRawBody') }),
    ])
  })

  test('what the application wraps around the response sees what is sent, and not what is kept', async () => {
    const app = express()
    app.use((_request, response, next) => {
      const end = response.end.bind(response) as (body: Uint8Array) => Response
      Object.assign(response, {
        end(body: Uint8Array) {
          response.setHeader('X-Wrapped', 'gzip').removeHeader('Content-Length')
          return end(gzipSync(body))
        },
      })
      next()
    })
    app.post(
      '/payments',
      guard(onMemory(), options, (_request, response) => void response.json({ ok: true })),
    )
    const url = await served(app)
    for (const _ of ['first', 'second']) {
      const response = await post(url, 'a')
      expect(response.headers.get('x-wrapped')).toBe('gzip')
      expect(gunzipSync(Buffer.from(await response.arrayBuffer())).toString()).toBe('{"ok":true}')
    }
  })

  test('a scope that throws reaches the error handler, and nothing runs', async () => {
    const { url, runs } = await shop((_request, response) => response.json({}), {
      scope: () => Promise.reject(new Error('nobody')),
    })
    const response = await post(url, 'a')
    expect([response.status, await response.json()]).toEqual([418, { handled: 'nobody' }])
    expect(runs.count).toBe(0)
  })

  test('a method that is not guarded goes straight to the handler', async () => {
    const { url, runs } = await shop((request, response) => response.json({ generation: request.work.generation }))
    for (const _ of ['first', 'second']) expect(await (await fetch(url)).json()).toEqual({ generation: 0 })
    expect(runs.count).toBe(2)
  })
})
