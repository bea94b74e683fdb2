import { once } from 'node:events'
import { request as ask, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Answer, engine } from 'hapax'
import { memoryStore } from 'hapax/memory'
import { guard, keyStatus, type NodeHandler, type NodeOptions } from 'hapax/node'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { freshPath } from '../stores/sqlite-fixtures/given.js'
import { collected, listening } from '../support/http-serving.js'
import { bounded, gate } from '../support/waiting.js'

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

interface Shop {
  readonly url: string
  readonly logged: readonly { readonly code: string; readonly message: string }[]
  /** How the first call of the listener ended. A rejection would end the process of somebody who does not look. */
  readonly first: Promise<'resolved' | 'rejected'>
}

type Wrap = (guarded: Listener) => Listener

async function listened(make: (log: (entry: Shop['logged'][number]) => void) => Listener, wrap: Wrap): Promise<Shop> {
  const logged: { code: string; message: string }[] = []
  const first = gate<'resolved' | 'rejected'>()
  const listener = wrap(make((entry) => void logged.push(entry)))
  const { port, close } = await listening((request, response) => {
    listener(request, response).then(
      () => first.open('resolved'),
      () => {
        first.open('rejected')
        response.destroy()
      },
    )
  })
  onTestFinished(close)
  return { url: `http://127.0.0.1:${port}/`, logged, first: bounded(first.opened, 'the listener to end') }
}

const asIs: Wrap = (guarded) => guarded
const reply = (text: string, status = 200): Answer => ({ status, headers: [], body: Buffer.from(text) })

function shop(handler: NodeHandler<never>, options: Partial<NodeOptions> = {}, wrap: Wrap = asIs): Promise<Shop> {
  const route = { name: 'payments.create', scope: () => 'acme', ...options }
  return listened((log) => guard(engine({ store: memoryStore(), log }), route, handler), wrap)
}

function post(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = { 'Idempotency-Key': 'k', 'Content-Type': 'text/plain' }
  return bounded(fetch(url, { method: 'POST', headers, body: 'five', ...init }), 'an answer')
}

/** A client that goes away in the middle of its body. */
async function leaves(url: string, method: string, isReached: Promise<void>): Promise<void> {
  const headers = { 'Idempotency-Key': 'k', 'Content-Length': 9 }
  const asking = ask(url, { method, headers })
  asking.on('error', () => {})
  asking.write('fiv')
  await isReached
  asking.destroy()
}

describe('a handler that throws', () => {
  const throws = () => Promise.reject(new Error('the password is wrong'))

  test('is answered with a 500 that tells nothing, and told to the log', async () => {
    const { url, logged, first } = await shop(throws)
    const response = await post(url)
    const text = await response.text()
    expect([response.status, JSON.parse(text).code]).toEqual([500, 'handler_failed'])
    expect(text).not.toContain('password')
    expect(logged).toMatchObject([{ code: 'handler_failed', message: expect.stringContaining('password') }])
    expect(logged[0]?.message).toContain('payments.create')
    expect(await first).toBe('resolved')
  })

  test('is so under a method that is not guarded, and when scope throws', async () => {
    const unguarded = await shop(throws)
    expect((await post(unguarded.url, { method: 'PUT' })).status).toBe(500)
    expect(await unguarded.first).toBe('resolved')
    const scopeless = await shop(() => reply('paid'), { scope: throws })
    expect((await post(scopeless.url)).status).toBe(500)
    expect(await scopeless.first).toBe('resolved')
  })

  test('is answered by the application where it wants to', async () => {
    const { url, logged, first } = await shop(throws, {
      answerError: (error, { method }, response) =>
        void response.writeHead(418).end(`${method} ${(error as Error).message}`),
    })
    const response = await post(url)
    expect([response.status, await response.text()]).toEqual([418, 'POST the password is wrong'])
    expect(logged).toEqual([])
    expect(await first).toBe('resolved')
  })

  test('is answered even where the answer of the application fails', async () => {
    const { url, logged, first } = await shop(throws, { answerError: () => Promise.reject(new Error('me too')) })
    expect((await post(url)).status).toBe(500)
    expect(logged).toMatchObject([{ message: expect.stringContaining('me too') }])
    expect(await first).toBe('resolved')
  })

  test('after half a reply breaks it off', async () => {
    const { url, first } = await shop(throws, {
      answerError(_error, _request, response) {
        response.writeHead(200).write('half')
        throw new Error('no more')
      },
    })
    await expect(post(url).then((response) => response.text())).rejects.toThrow()
    expect(await first).toBe('resolved')
  })
})

describe('a handler that gives no reply', () => {
  test.each([
    ['nothing', undefined],
    ['text', 'paid'],
    ['a Response', new Response('paid')],
    ['a body of text', { status: 200, headers: [], body: 'paid' }],
  ])('fails as one that throws when it returns %s', async (_, value) => {
    let runs = 0
    const { url, logged } = await shop(() => (++runs === 1 ? (value as unknown as Answer) : reply('paid')))
    expect((await post(url)).status).toBe(500)
    expect(logged).toMatchObject([{ code: 'handler_failed', message: expect.stringContaining('returned no reply') }])
    expect(await (await post(url)).text()).toBe('paid')
  })

  test('inside work.commit commits nothing, and hears why', async () => {
    let runs = 0
    const hapax = engine({ store: sqliteStore({ path: freshPath() }), log: () => {} })
    onTestFinished(() => hapax.close())
    const { url } = await listened(
      () =>
        guard(hapax, { name: 'payments.create', scope: () => 'acme' }, async (_request, { work }) => {
          runs++
          await work.commit(async () => (runs === 1 ? undefined : reply('committed')))
          return reply('paid')
        }),
      asIs,
    )
    expect((await post(url)).status).toBe(500)
    expect(await (await post(url)).text()).toBe('committed')
  })
})

describe('a client that goes away in the middle of its body', () => {
  test('is let go: nothing runs, nothing is logged, nothing rejects', async () => {
    let runs = 0
    const begun = gate()
    const tell: Wrap = (guarded) => (request, response) => {
      const ending = guarded(request, response)
      request.once('data', () => begun.open())
      return ending
    }
    const { url, logged, first } = await shop(() => reply(`run ${++runs}`), {}, tell)
    await leaves(url, 'POST', begun.opened)
    expect(await first).toBe('resolved')
    expect([runs, logged]).toEqual([0, []])
    expect(await (await post(url)).text()).toBe('run 1')
  })

  test('is so when it left before the guard looked', async () => {
    const arrived = gate()
    const late: Wrap = (guarded) => async (request, response) => {
      const closed = new Promise((resolve) => request.on('error', () => {}).once('close', resolve))
      arrived.open()
      await closed
      return guarded(request, response)
    }
    const { url, logged, first } = await shop(() => reply('paid'), {}, late)
    await leaves(url, 'POST', arrived.opened)
    expect([await first, logged]).toEqual(['resolved', []])
  })
})

describe('a method that is not guarded', () => {
  test('is left alone: its body is unread, and as long as it likes', async () => {
    const handler: NodeHandler<never> = async (request, { body }) =>
      reply(`${body.byteLength} given, ${(await collected(request)).byteLength} read`)
    const { url } = await shop(handler, { bodyLimit: 10 })
    const response = await post(url, { method: 'PUT', body: 'x'.repeat(20) })
    expect(await response.text()).toBe('0 given, 20 read')
  })

  test('may have a body that nobody reads, under GET too', async () => {
    const { url } = await shop(() => reply('read'), { bodyLimit: 10 })
    const asking = ask(url, { headers: { 'Content-Length': 20 } })
    asking.end('x'.repeat(20))
    const [response] = (await bounded(once(asking, 'response'), 'an answer')) as [IncomingMessage]
    expect([response.statusCode, Buffer.from(await collected(response)).toString()]).toEqual([200, 'read'])
  })
})

describe('a body that was read before the guard', () => {
  const readFirst: Wrap = (guarded) => async (request, response) => {
    await collected(request)
    return guarded(request, response)
  }

  test('is told to the developer, and the client does not wait for ever', async () => {
    const { url, logged, first } = await shop(() => reply('paid'), {}, readFirst)
    expect((await post(url)).status).toBe(500)
    expect(logged).toMatchObject([
      { code: 'policy_invalid', message: expect.stringContaining('read before the guard') },
    ])
    expect(await first).toBe('resolved')
  })

  test('does not matter when there was none, or when the method is not guarded', async () => {
    const { url } = await shop(() => reply('paid'), {}, readFirst)
    expect((await post(url, { body: null })).status).toBe(200)
    expect((await post(url, { method: 'PUT' })).status).toBe(200)
  })
})

describe('a status route', () => {
  const status = (scope: () => Promise<string>) =>
    listened((log) => keyStatus(engine({ store: memoryStore(), log }), { scope }), asIs)

  test('answers a scope that throws with a 500 that tells nothing, and tells the log', async () => {
    const { url, logged, first } = await status(() => Promise.reject(new Error('the password is wrong')))
    const response = await bounded(fetch(url, { headers: { 'Idempotency-Key': 'k' } }), 'an answer')
    expect([response.status, (await response.text()).includes('password')]).toEqual([500, false])
    expect(logged).toMatchObject([{ message: expect.stringContaining('password') }])
    expect(await first).toBe('resolved')
  })

  test.each(['POST', 'PUT', 'DELETE'])('has no answer to %s, and says what it answers', async (method) => {
    const { url } = await status(async () => 'acme')
    const refused = await post(url, { method })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
