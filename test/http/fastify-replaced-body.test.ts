import { PassThrough, Readable } from 'node:stream'
import fastify, { type FastifyInstance } from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { afterEach, describe, expect, test } from 'vitest'

const apps: FastifyInstance[] = []
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

const options = { name: 'payments.create', scope: () => 'acme' }
const headers = { 'idempotency-key': 'k', 'content-type': 'application/json' }

function application(): FastifyInstance {
  const app = fastify({ forceCloseConnections: true })
  apps.push(app)
  return app
}

/** What a hook may put in the place of a body, given its text. All of it is there before the guard sees it. */
const replaced: Record<string, (text: string) => Readable> = {
  'a stream of bytes': (text) => Readable.from([Buffer.from(text)], { objectMode: false }),
  'a stream that decodes': (text) => Readable.from([Buffer.from(text)], { objectMode: false }).setEncoding('utf8'),
  'a stream of texts': (text) => Readable.from([text]),
  'a stream of two pieces': (text) => Readable.from([Buffer.from(text.slice(0, 3)), Buffer.from(text.slice(3))]),
}

describe('a body that a hook replaced, and that came before the guard', () => {
  test.each(Object.keys(replaced))('is compared whole, as %s', async (kind) => {
    const app = application()
    app.addHook('preParsing', async (request, _reply, payload) => {
      const chunks: Buffer[] = []
      for await (const chunk of payload) chunks.push(chunk as Buffer)
      const stream = replaced[kind]?.(Buffer.concat(chunks).toString()) as Readable
      // Lets it fill its buffer before anybody reads.
      stream.on('readable', () => {})
      await new Promise((resolve) => setImmediate(resolve))
      stream.removeAllListeners('readable')
      return Object.assign(stream, { receivedEncodedLength: Number(request.headers['content-length']) })
    })
    app.post('/payments', guard(engine({ store: memoryStore() }), options, { handler: async ({ body }) => body }))
    const ask = async (cents: number) => {
      const answer = await app.inject({ method: 'POST', url: '/payments', headers, payload: `{"cents":${cents}}` })
      return answer.statusCode
    }
    expect([await ask(1), await ask(1), await ask(2)]).toEqual([200, 200, 422])
  })
})

describe('a parser that leaves the stream to the handler', () => {
  const shop = (around: (app: FastifyInstance) => void) => {
    const app = application()
    around(app)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    const handler = async ({ body }: { body: unknown }) => {
      const chunks: Buffer[] = []
      for await (const chunk of body as Readable) chunks.push(chunk as Buffer)
      return { got: Buffer.concat(chunks).toString() }
    }
    app.post('/payments', guard(engine({ store: memoryStore() }), options, { handler } as never))
    return async (payload: string) => {
      const answer = await app.inject({ method: 'POST', url: '/payments', headers, payload })
      return [answer.statusCode, answer.json().got]
    }
  }

  test.each([
    ['an injected request', () => {}],
    [
      'a replaced body',
      (app: FastifyInstance) =>
        app.addHook('preParsing', async (_request, _reply, payload) => payload.pipe(new PassThrough())),
    ],
  ] as const)('leaves it whole, of %s', async (_what, around) => {
    const ask = shop(around)
    expect(await ask('hello')).toEqual([200, 'hello'])
    expect(await ask('hello')).toEqual([200, 'hello'])
    expect(await ask('other')).toEqual([422, undefined])
  })
})
