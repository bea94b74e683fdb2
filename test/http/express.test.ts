import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { NextFunction, Request, Response } from 'express'
import { engine } from 'hapax'
import { type ExpressHandler, guard } from 'hapax/express'
import { memoryStore } from 'hapax/memory'
import { sqliteStore } from 'hapax/sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { closeAll, expresses, onMemory, options, post, served, shop } from '../support/express-shop.js'
import { faultyStore } from '../support/faulty-store.js'
import { gate, until } from '../support/waiting.js'

afterEach(closeAll)

describe.each(expresses)('%s', (_name, express) => {
  test('the first runs, and the second gets its status, kept headers and bytes, but no cookie', async () => {
    const { url, runs } = await shop(express, (request, response) => {
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
      express,
      async (_request, response) => {
        started.open()
        await go.opened
        response.json({ run: runs.count })
      },
      { options: { concurrency: 'wait' } },
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
    const { url, runs } = await shop(express, (request, response, next) =>
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
    const { url, runs } = await shop(express, () => Promise.reject(new Error('broken')), {
      options: { onError: 'store' },
    })
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
    const { url, runs } = await shop(express, (_request, response) => write(response))
    for (const _ of ['first', 'second']) {
      const bytes = Buffer.from(await (await post(url, 'a')).arrayBuffer())
      expect(bytes.toString('hex')).toBe('00ff616263')
    }
    expect(runs.count).toBe(1)
  })

  test('an empty answer and a redirect are replayed as they are', async () => {
    const { url, runs } = await shop(express, (request, response) =>
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
})
