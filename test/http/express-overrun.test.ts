import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { NextFunction, Request, Response } from 'express'
import { engine } from 'hapax'
import type { ExpressHandler } from 'hapax/express'
import { memoryStore } from 'hapax/memory'
import { afterEach, describe, expect, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { closeAll, expresses, post, type Stand, shop } from '../support/express-shop.js'
import { manualClock } from '../support/manual-clock.js'
import { bounded, gate, until } from '../support/waiting.js'

afterEach(closeAll)

/** Sends a request, and goes away as soon as it is told to. */
async function abandoned(url: string, key: string, leave: Promise<unknown>): Promise<void> {
  const leaving = new AbortController()
  const answer = post(url, key, { signal: leaving.signal }).catch(() => {})
  await bounded(leave, 'the handler to start')
  leaving.abort()
  await answer
}

describe.each(expresses)('%s', (_name, express) => {
  describe('a handler that outlives maxRun', () => {
    /** The first caller is told that it still runs; then the handler goes on. */
    async function overrun(handler: (response: Response, next: NextFunction) => unknown, stand: Stand = {}) {
      const clock = manualClock()
      const hapax = engine({ store: memoryStore(), clock, log: () => {} })
      const failures: unknown[] = []
      hapax.on('failed', (failure) => failures.push(failure))
      const completed = new Promise((resolve) => hapax.on('completed', resolve))
      const started = gate()
      const go = gate()
      const slow: ExpressHandler<never> = async (_request, response, next) => {
        started.open()
        await go.opened
        return handler(response, next)
      }
      const limits = { lease: '1s', maxRun: '2s' } as const
      const { url, runs } = await shop(express, slow, { ...stand, engine: hapax, options: limits })
      const first = post(url, 'a')
      await bounded(started.opened, 'the handler to start')
      await clock.advance(3_000)
      const told = await bounded(first, 'the overrun to be told')
      const text = await told.text()
      go.open()
      await bounded(completed, 'the late answer')
      const second = await post(url, 'a')
      return { told, text, second, runs, failures }
    }

    test.each<[string, (response: Response, next: NextFunction) => unknown]>([
      ['answers', (response) => response.status(201).set('Location', '/payments/1').json({ late: true })],
      [
        'answers from a callback',
        (response) => void setImmediate(() => response.status(201).location('/payments/1').json({ late: true })),
      ],
      [
        'writes piece by piece',
        (response) => {
          response.writeHead(201, { Location: '/payments/1' })
          response.write('{"late":')
          response.end('true}')
        },
      ],
      ['pipes', (response) => Readable.from(['{"late":', 'true}']).pipe(response.status(201).location('/payments/1'))],
      [
        'waits for a pipeline',
        (response) => pipeline(Readable.from(['{"late":', 'true}']), response.status(201).location('/payments/1')),
      ],
    ])('and then %s has its answer kept, and does not run again', async (_how, handler) => {
      const { told, text, second, runs, failures } = await overrun(handler)
      expect([told.status, JSON.parse(text).code]).toEqual([409, 'idempotency_key_in_progress'])
      expect(told.headers.get('location')).toBeNull()
      expect([second.status, await second.text()]).toEqual([201, '{"late":true}'])
      expect(second.headers.get('location')).toBe('/payments/1')
      expect(second.headers.get('idempotent-replayed')).toBe('true')
      expect(failures).toEqual([])
      expect(runs.count).toBe(1)
    })

    test('and has begun to pipe has all of it kept, when the overrun was told in between', async () => {
      const source = new PassThrough()
      const clock = manualClock()
      const hapax = engine({ store: memoryStore(), clock, log: () => {} })
      const completed = new Promise((resolve) => hapax.on('completed', resolve))
      const started = gate()
      const piping: ExpressHandler<never> = (_request, response) => {
        source.pipe(response)
        source.write('early ')
        started.open()
      }
      const limits = { lease: '1s', maxRun: '2s' } as const
      const { url, runs } = await shop(express, piping, { engine: hapax, options: limits })
      const first = post(url, 'a')
      await bounded(started.opened, 'the handler to start')
      await clock.advance(3_000)
      expect((await bounded(first, 'the overrun to be told')).status).toBe(409)
      source.end('late')
      await bounded(completed, 'the late answer')
      expect(await (await post(url, 'a')).text()).toBe('early late')
      expect(runs.count).toBe(1)
    })

    test('and hands on has the answer of the next one kept', async () => {
      const { told, second, runs } = await overrun((_response, next) => next(), {
        behind: (_request, response) => response.json({ from: 'the next' }),
      })
      expect(told.status).toBe(409)
      expect([second.status, await second.json()]).toEqual([200, { from: 'the next' }])
      expect(runs.count).toBe(1)
    })

    test('is told so through whatever wraps the response, even where that takes its time', async () => {
      const { told, text, second } = await overrun((response) => response.json({ late: true }), {
        before(_request, response, next) {
          const end = response.end.bind(response) as (body: unknown) => Response
          const slowEnd = (body: unknown) => {
            response.setHeader('X-Wrapped', 'yes').removeHeader('Content-Length')
            response.writeHead(response.statusCode)
            setImmediate(() => end(body))
            return response
          }
          Object.assign(response, { end: slowEnd })
          next()
        },
      })
      expect([told.status, told.headers.get('x-wrapped')]).toEqual([409, 'yes'])
      expect(JSON.parse(text).code).toBe('idempotency_key_in_progress')
      expect([second.headers.get('x-wrapped'), await second.json()]).toEqual(['yes', { late: true }])
    })
  })

  describe('a client that goes away', () => {
    test.each<[string, (request: Request, response: Response) => unknown]>([
      [
        'looks for the client and returns',
        (request) =>
          until(
            async () => request.destroyed,
            (is) => is,
          ),
      ],
      ['destroys its request', async (request) => void request.destroy()],
    ])('leaves the key open to a retry, when the handler %s', async (_how, first) => {
      const started = gate()
      const { url, runs } = await shop(express, (request, response) => {
        started.open()
        return runs.count === 1 ? first(request, response) : response.json({ run: runs.count })
      })
      await abandoned(url, 'a', started.opened)
      const retry = await until(
        () => post(url, 'a'),
        ({ status }) => status !== 409,
        'the first run to end',
      )
      expect(await retry.json()).toEqual({ run: 2 })
    })

    test('leaves the key open to a retry, when a handler that returns no promise has cut it off', async () => {
      const { url, runs } = await shop(express, (request, response) =>
        runs.count === 1 ? void request.socket.destroy() : void response.json({ run: runs.count }),
      )
      await post(url, 'a').catch(() => {})
      const retry = await until(
        () => post(url, 'a'),
        ({ status }) => status !== 409,
        'the first run to end',
      )
      expect(await retry.json()).toEqual({ run: 2 })
    })

    type Going = (response: Response, next: NextFunction, go: Promise<void>) => unknown

    test.each<[string, Going]>([
      ['answers from a callback', (response, _next, go) => void go.then(() => response.json({ run: 1 }))],
      ['hands on to one that answers', async (_response, next) => next()],
      [
        'has begun to write',
        async (response, _next, go) => {
          response.write('{"run":')
          void go.then(() => response.end('1}'))
        },
      ],
      [
        'has begun to pipe',
        async (response, _next, go) => {
          const source = new PassThrough()
          source.pipe(response)
          void go.then(() => source.end('{"run":1}'))
        },
      ],
    ])('ends nothing, when the handler %s', async (_how, handler) => {
      const started = gate()
      const gone = gate()
      const go = gate()
      const { url, runs } = await shop(
        express,
        (request, response, next) => {
          request.socket.once('close', () => gone.open())
          started.open()
          return handler(response, next, go.opened)
        },
        { behind: (_request, response) => void go.opened.then(() => response.json({ run: 1 })) },
      )
      await abandoned(url, 'a', started.opened)
      await bounded(gone.opened, 'the connection to close')
      expect((await post(url, 'a')).status).toBe(409)
      go.open()
      const retry = await until(
        () => post(url, 'a'),
        ({ status }) => status !== 409,
        'the first run to end',
      )
      expect([retry.headers.get('idempotent-replayed'), await retry.json()]).toEqual(['true', { run: 1 }])
      expect(runs.count).toBe(1)
    })

    test('gets the file that was sent after it had gone, by its retry', async () => {
      const path = freshPath()
      await writeFile(path, 'a receipt')
      const started = gate()
      const { url, runs } = await shop(express, async (request, response) => {
        started.open()
        await bounded(once(request.socket, 'close'), 'the client to leave')
        response.type('text').sendFile(path, { dotfiles: 'allow' })
      })
      await abandoned(url, 'a', started.opened)
      const retry = await until(
        () => post(url, 'a'),
        ({ status }) => status !== 409,
        'the first run to end',
      )
      expect(await retry.text()).toBe('a receipt')
      expect(runs.count).toBe(1)
    })
  })
})
