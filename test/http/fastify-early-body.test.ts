import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import fastify, { type FastifyInstance } from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { afterEach, describe, expect, test } from 'vitest'
import { bounded, gate, until } from '../support/waiting.js'

/** A hook of the application that takes its time lets the body come in before the guard can look at it. */

const apps: FastifyInstance[] = []

afterEach(async () => {
  for (const app of apps.splice(0)) await app.close()
})

/** A guarded route behind a hook that goes on when enough of the body has come. `past` hears when the guard's hook is over. */
async function shop(hasCome: (raw: IncomingMessage) => boolean, past: () => void = () => {}) {
  const runs = { count: 0 }
  const app = fastify({ forceCloseConnections: true })
  apps.push(app)
  app.addHook('onRequest', async ({ raw }) => {
    await until(
      async () => hasCome(raw),
      (is) => is,
      'the body to come in before the guard',
    )
  })
  const route = guard(
    engine({ store: memoryStore() }),
    { name: 'payments.create', scope: () => 'acme' },
    {
      preParsing(_request, _reply, payload, done) {
        past()
        done(null, payload)
      },
      handler(request, reply) {
        runs.count++
        reply.code(201).send({ got: request.body })
      },
    },
  )
  app.post('/payments', route)
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { port: (app.server.address() as AddressInfo).port, runs }
}

describe('a body that has come before the guard', () => {
  const post = async (port: number, body: string) => {
    const headers = { 'Idempotency-Key': 'a', 'Content-Type': 'application/json' }
    const response = await fetch(`http://127.0.0.1:${port}/payments`, { method: 'POST', headers, body })
    return {
      status: response.status,
      replayed: response.headers.get('idempotent-replayed'),
      body: await response.json(),
    }
  }

  test('is compared, and reaches the handler', async () => {
    const { port, runs } = await shop((raw) => raw.complete)
    const answer = { status: 201, body: { got: { cents: 5 } } }
    expect(await post(port, '{"cents":5}')).toEqual({ ...answer, replayed: null })
    expect(await post(port, '{"cents":5}')).toEqual({ ...answer, replayed: 'true' })
    expect(await post(port, '{"cents":9}')).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused_with_different_payload' },
    })
    expect(runs.count).toBe(1)
  })
})

describe('a body of which one half has come before the guard and one comes after', () => {
  type Halves = readonly [before: string, after: string]

  const first: Halves = ['{"cents":5,', '"to":"ann"}']

  async function till() {
    let isPast = gate()
    const { port, runs } = await shop(
      (raw) => raw.readableLength === first[0].length,
      () => isPast.open(),
    )
    const pay = async ([before, after]: Halves) => {
      isPast = gate()
      const socket = connect({ host: '127.0.0.1', port })
      const received = text(socket)
      socket.write(headOf(before.length + after.length) + before)
      await bounded(isPast.opened, 'the guard to look at the body')
      socket.write(after)
      return bounded(received, 'the answer')
    }
    return { pay, runs }
  }

  test('is compared whole, and reaches the handler whole', async () => {
    const { pay, runs } = await till()
    const answer = await pay(first)
    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    expect(answer).toContain('{"got":{"cents":5,"to":"ann"}}')
    expect(await pay(first)).toMatch(/^HTTP\/1\.1 201 .*idempotent-replayed: true/is)
    expect(runs.count).toBe(1)
  })

  test.each<[string, Halves]>([
    ['before', ['{"cents":9,', first[1]]],
    ['after', [first[0], '"to":"bob"}']],
  ])('is another one, when only what came %s differs', async (_when, other) => {
    const { pay, runs } = await till()
    expect(await pay(first)).toMatch(/^HTTP\/1\.1 201 /)
    expect(await pay(other)).toMatch(/^HTTP\/1\.1 422 /)
    expect(runs.count).toBe(1)
  })
})

function headOf(length: number): string {
  const lines = [
    ...['POST /payments HTTP/1.1', 'Host: localhost', 'Connection: close', 'Idempotency-Key: a'],
    ...['Content-Type: application/json', `Content-Length: ${length}`],
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
