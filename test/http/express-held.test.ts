import { once } from 'node:events'
import { connect } from 'node:net'
import { pipeline as pipelined, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'
import { engine } from 'hapax'
import { guard } from 'hapax/express'
import { sqliteStore } from 'hapax/sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { closeAll, expresses, onMemory, options, post, served, shop } from '../support/express-shop.js'
import { bounded, gate } from '../support/waiting.js'

afterEach(closeAll)

/** Sends a request as text, and gives back everything that came until the server had nothing more to say. */
async function said(url: string, key: string): Promise<string> {
  const { port, pathname } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nIdempotency-Key: ${key}\r\nConnection: close\r\n\r\n`)
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => {})
  await bounded(once(socket, 'close'), 'the server to answer')
  return Buffer.concat(chunks).toString('latin1')
}

describe.each(expresses)('%s', (_name, express) => {
  test('the first answer says how long it is, as its replay does', async () => {
    const { url } = await shop(express, (_request, response) => response.json({ ok: true }))
    for (const _ of ['first', 'second']) {
      const head = await said(url, 'a')
      expect(head).toMatch(/\r\nContent-Length: 11\r\n/i)
      expect(head).not.toMatch(/transfer-encoding/i)
    }
  })

  test('what the handler has taken away or joined is so for the first caller', async () => {
    const { url } = await shop(
      express,
      (_request, response) => {
        response.removeHeader('X-Powered-By')
        response.removeHeader('X-Internal')
        response.vary('Accept').append('Set-Cookie', 'own=2').json({})
      },
      {
        options: { keepHeaders: ['vary'] },
        before(_request, response, next) {
          response.set({ 'X-Internal': 'yes', Vary: 'Origin' }).append('Set-Cookie', 'session=1')
          next()
        },
      },
    )
    const first = await said(url, 'a')
    expect(first.match(/^vary:.*$/gim)).toEqual(['vary: Origin, Accept'])
    expect(first.match(/^set-cookie:.*$/gim)).toEqual(['set-cookie: session=1', 'set-cookie: own=2'])
    expect(first).not.toMatch(/x-powered-by|x-internal/i)
    const second = await said(url, 'a')
    expect(second.match(/^vary:.*$/gim)?.join()).toMatch(/^vary: Origin,\s?(vary: )?Accept$/i)
    expect(second).toMatch(/idempotent-replayed: true/i)
    expect(second).toMatch(/x-internal: yes/i)
  })

  test('nothing of the head of a handler that failed is in the answer of the application', async () => {
    const { url } = await shop(express, (_request, response) => {
      response.statusMessage = 'Half Done'
      response.status(202).set('X-Half', 'yes').removeHeader('X-Powered-By')
      throw new Error('broken')
    })
    const head = await said(url, 'a')
    expect(head).toMatch(/^HTTP\/1.1 418 I'm a Teapot\r\n/i)
    expect(head).toMatch(/x-powered-by: Express/i)
    expect(head).not.toMatch(/x-half/i)
  })

  test('nothing leaves before the answer, not even a hint', async () => {
    const { url } = await shop(express, async (_request, response) => {
      response.writeContinue()
      response.writeProcessing()
      await new Promise<void>((resolve) => response.writeEarlyHints({ link: '</a>; rel=preload' }, resolve))
      response.json({ ok: true })
    })
    expect(await said(url, 'a')).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  })

  test('a guard without a handler is refused at start, by the name of its route', () => {
    expect(() => Reflect.apply(guard, undefined, [onMemory(), options])).toThrow(
      expect.objectContaining({ code: 'handler_missing', message: expect.stringContaining('"payments.create"') }),
    )
  })

  test('a response that is held looks to its handler as if it were sent', async () => {
    const looks: unknown[] = []
    const finished = gate()
    const { url } = await shop(express, (_request, response) => {
      const look = () => looks.push([response.headersSent, response.writableEnded])
      response.once('finish', () => finished.open())
      look()
      response.status(201).write('a')
      look()
      expect(() => response.set('X-Late', 'yes')).toThrow(expect.objectContaining({ code: 'ERR_HTTP_HEADERS_SENT' }))
      response.end('b', look)
      response.end('c')
      look()
    })
    expect(await (await post(url, 'a')).text()).toBe('ab')
    await bounded(finished.opened, 'the end to be told')
    expect(looks).toEqual([
      [false, false],
      [true, false],
      [true, true],
      [true, true],
    ])
  })

  test('a middleware behind the guard may wrap the response', async () => {
    const { url } = await shop(
      express,
      (_request, response, next) => {
        const end = response.end.bind(response) as (body: unknown) => Response
        response.end = ((body: unknown) => end(`<${String(body)}>`)) as Response['end']
        next()
      },
      { behind: (_request, response) => response.type('text').end('inside') },
    )
    for (const _ of ['first', 'second']) expect(await (await post(url, 'a')).text()).toBe('<inside>')
  })

  test('a pipeline may be waited for inside work.commit', async () => {
    const hapax = engine({ store: sqliteStore({ path: freshPath() }) })
    const app = express()
    const handler = guard(hapax, options, async (request, response) => {
      await request.work.commit(async () => pipeline(Readable.from(['a', 'b']), response.status(201)))
    })
    app.post('/payments', handler)
    const url = await served(app)
    for (const _ of ['first', 'second']) {
      const answer = await bounded(post(url, 'a'), 'the commit')
      expect([answer.status, await answer.text()]).toEqual([201, 'ab'])
    }
    await hapax.close()
  })

  test('a pipeline whose source breaks off is a failure, and runs again', async () => {
    async function* broken() {
      yield 'a'
      throw new Error('broken')
    }
    const { url, runs } = await shop(express, (_request, response) => {
      if (runs.count > 1) return void response.json({ ok: true })
      return void pipelined(Readable.from(broken()), response, () => {})
    })
    expect((await post(url, 'a')).status).toBe(418)
    expect(await (await post(url, 'a')).json()).toEqual({ ok: true })
  })
})
