import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { NextFunction, Request, Response } from 'express'
import type { HapaxError } from 'hapax'
import { guard } from 'hapax/express'
import { afterEach, describe, expect, test } from 'vitest'
import { closeAll, expresses, onMemory, options, post, served, shop } from '../support/express-shop.js'

afterEach(closeAll)

describe.each(expresses)('%s', (_name, express) => {
  test('a body over the limit is refused, with a parser before the guard and without', async () => {
    const { url, runs } = await shop(express, (_request, response) => response.json({}), { options: { bodyLimit: 20 } })
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
    const { url, runs } = await shop(express, (request, response) => response.json(request.body))
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

  test('a scope that throws reaches the error handler, and nothing runs', async () => {
    const { url, runs } = await shop(express, (_request, response) => response.json({}), {
      options: { scope: () => Promise.reject(new Error('nobody')) },
    })
    const response = await post(url, 'a')
    expect([response.status, await response.json()]).toEqual([418, { handled: 'nobody' }])
    expect(runs.count).toBe(0)
  })

  test('a method that is not guarded goes straight to the handler', async () => {
    const { url, runs } = await shop(express, (request, response) =>
      response.json({ generation: request.work.generation }),
    )
    for (const _ of ['first', 'second']) expect(await (await fetch(url)).json()).toEqual({ generation: 0 })
    expect(runs.count).toBe(2)
  })
})
