import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import compress from '@fastify/compress'
import fastify from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gate } from '../support/waiting.js'
import { adapters, ask, key, site } from './support/http-site.js'
import { hours, noon } from './support/times.js'

/** What a replay carries of the first answer, and what it never does. */

const kept = [
  ['Content-Type', 'application/vnd.shop+json'],
  ['Location', '/payments/7'],
  ['Content-Location', '/payments/7?v=1'],
  ['ETag', '"v1"'],
  ['Last-Modified', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ['Link', '</payments/7>; rel="self"'],
] as const

const personal = [
  ['Set-Cookie', 'session=of-the-first'],
  ['Set-Cookie', 'csrf=rotates'],
  ['WWW-Authenticate', 'Bearer'],
  ['Authentication-Info', 'nextnonce="1"'],
  ['X-Request-Id', 'req_1'],
  ['RateLimit-Remaining', '41'],
  ['X-Anything', 'else'],
] as const

const personalNames = [...new Set(personal.map(([name]) => name.toLowerCase()))]

describe.each(adapters)('on %s', (adapter) => {
  test('a replay carries the headers that describe the answer, and others only where a route names them [G-03]', async () => {
    const said = { status: 201, headers: [...kept, ...personal], body: Buffer.from('{"id":7}') }
    const { ask } = await site(
      adapter,
      { path: '/plain', handler: () => said },
      { path: '/named', handler: () => said, options: { keepHeaders: ['X-Anything'] } },
    )
    for (const path of ['/plain', '/named']) {
      const [first, again] = [await ask({ path, key: path }), await ask({ path, key: path })]
      for (const [name, value] of kept) {
        expect([path, name, first.headers[name.toLowerCase()]]).toEqual([path, name, value])
        expect([path, name, again.headers[name.toLowerCase()]]).toEqual([path, name, value])
      }
      expect(again.headers['x-anything']).toBe(path === '/named' ? 'else' : undefined)
    }
  })

  test('cookies, credentials and what is of one moment reach the first caller alone, in wait mode too [X-01]', async () => {
    const [begun, go] = [gate(), gate()]
    let arrived = 0
    const { ask, runs, heard } = await site(adapter, {
      options: { concurrency: 'wait' },
      scope() {
        arrived++
        return 'acme'
      },
      async handler() {
        begun.open()
        await go.opened
        return { status: 201, headers: [...kept, ...personal], body: Buffer.from('{"id":7}') }
      },
    })
    const first = ask()
    await begun.opened
    const waiters = [ask(), ask()]
    await expect.poll(() => arrived, { timeout: 5_000 }).toBe(3)
    await settled()
    go.open()
    const own = await first
    expect(own.headers['set-cookie']).toEqual(['session=of-the-first', 'csrf=rotates'])
    const others = [...(await Promise.all(waiters)), await ask()]
    expect(heard.filter(({ name }) => name === 'shared')).toHaveLength(2)
    for (const { status, text, headers, replayed } of others) {
      expect([status, text, replayed]).toEqual([201, own.text, true])
      expect(personalNames.filter((name) => name in headers)).toEqual([])
    }
    expect(runs()).toBe(1)
  })

  test.each(['Set-Cookie', 'www-authenticate', 'Authorization', 'Date', 'Transfer-Encoding'])(
    'a route that wants %s replayed refuses to start [X-01]',
    async (name) => {
      const starting = site(adapter, { options: { keepHeaders: [name] } })
      await expect(starting).rejects.toMatchObject({ code: 'policy_invalid' })
    },
  )

  test('an answer that is streamed is read to its end, kept whole, and sent only then [G-05]', async () => {
    const [begun, go] = [gate(), gate()]
    async function* lines() {
      yield Buffer.from('line 1\n')
      begun.open()
      await go.opened
      yield Buffer.from('line 2\n')
    }
    const { ask, runs, rows } = await site(adapter, {
      handler: () => ({ status: 200, headers: [['Content-Type', 'text/plain']], body: lines() }),
    })
    let isAnswered = false
    const first = ask().finally(() => {
      isAnswered = true
    })
    await begun.opened
    await settled()
    expect(isAnswered).toBe(false)
    expect(rows()).toMatchObject([{ status: 'in_progress' }])
    go.open()
    expect((await first).text).toBe('line 1\nline 2\n')
    expect(await ask()).toMatchObject({ text: 'line 1\nline 2\n', replayed: true })
    expect(runs()).toBe(1)
  })

  test('a stream of events, which need not end, is refused at its head and keeps nobody waiting [G-05]', async () => {
    async function* endless() {
      yield Buffer.from('data: 1\n\n')
      await new Promise(() => {})
    }
    // The handlers of bare node return whole bodies.
    const body = adapter === 'node' ? Buffer.from('data: 1\n\n') : endless()
    const { ask } = await site(adapter, {
      handler: () => ({ status: 200, headers: [['Content-Type', 'text/event-stream']], body }),
    })
    const refused = await ask()
    expect([refused.status, refused.text.includes('data: 1')]).toEqual([500, false])
  })

  test('a stream that is longer than what is kept goes to the first caller; a retry is told that it ran [G-05]', async () => {
    async function* long() {
      for (let part = 0; part < 20; part++) yield Buffer.alloc(100, part)
    }
    const { ask, runs } = await site(adapter, {
      options: { maxAnswerBytes: 1_000 },
      handler: () => ({ status: 200, headers: [['Location', '/exports/7']], body: long() }),
    })
    expect((await ask()).bytes.byteLength).toBe(2_000)
    const again = await ask()
    expect([again.status, again.headers.location, runs()]).toEqual([409, '/exports/7', 1])
    expect(JSON.parse(again.text)).toMatchObject({ code: 'answer_withheld', retryable: false })
  })

  test('the first answer and every replay tell when the key ends, as the row has it [S1-087]', async () => {
    const { ask, row, setTime } = await site(adapter, { options: { retention: '7d' } })
    await setTime(noon)
    const first = await ask()
    await setTime(noon + 3 * hours)
    const again = await ask()
    const expires = new Date(Number(row(key).expires_at)).toUTCString()
    expect(expires).toBe(new Date(noon + 7 * 24 * hours).toUTCString())
    expect([first, again].map(({ headers }) => headers['idempotency-key-expires'])).toEqual([expires, expires])
    expect(again.replayed).toBe(true)
  })

  test('a body that is compressed otherwise, or not at all, is the same request [G-18]', async () => {
    const { ask, runs } = await site(adapter)
    const text = '{"amount":100}'
    const wrapped = (body: Buffer, encoding: string) => ({ body, headers: { 'content-encoding': encoding } })
    expect((await ask(wrapped(gzipSync(text), 'gzip'))).status).toBe(201)
    const retries = [wrapped(gzipSync(text, { level: 0 }), 'x-gzip'), wrapped(gzipSync(gzipSync(text)), 'gzip, gzip')]
    for (const retry of [...retries, { body: text }])
      expect(await ask(retry)).toMatchObject({ status: 201, replayed: true, text: '{"id":1}' })
    expect((await ask(wrapped(gzipSync('{"amount":101}'), 'gzip'))).status).toBe(422)
    expect(runs()).toBe(1)
  })

  test('a few bytes that unfold beyond the limit are refused, and nothing runs or is kept [G-18]', async () => {
    const { ask, runs, rows } = await site(adapter, { options: { bodyLimit: 10_000 } })
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024))
    const doubled = gzipSync(bomb)
    expect([bomb.byteLength > 10_000, doubled.byteLength < 10_000]).toEqual([true, true])
    const got = await ask({ body: doubled, headers: { 'content-encoding': 'gzip, gzip' } })
    expect(got.status).toBe(413)
    expect([runs(), rows()]).toEqual([0, []])
  })
})

/** Lets everything happen that needs no more input. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 50; turns++) await turn()
}

test('a replay is compressed for whoever asks for it now, and not as the first caller asked [X-03]', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  await app.register(compress, { threshold: 0 })
  let runs = 0
  const options = { name: 'reports.create', scope: () => 'acme' }
  const report = { text: 'a report '.repeat(50) }
  app.post(
    '/reports',
    guard(engine({ store: memoryStore() }), options, { handler: () => ({ ...report, run: ++runs }) }),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const get = (sent: string, encoding: string) =>
    ask(port, { path: '/reports', key: sent, headers: { 'accept-encoding': encoding } })
  for (const [first, second] of [
    ['gzip', 'identity'],
    ['identity', 'gzip'],
  ] as const) {
    const answers = { [first]: await get(first, first), [second]: await get(first, second) }
    expect(answers[second]?.replayed).toBe(true)
    const { gzip, identity } = answers
    expect([gzip?.headers['content-encoding'], identity?.headers['content-encoding']]).toEqual(['gzip', undefined])
    expect(gunzipSync(gzip?.bytes ?? '').toString()).toBe(identity?.text)
  }
  expect(runs).toBe(2)
})
