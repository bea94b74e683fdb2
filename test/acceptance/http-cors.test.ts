import type { AddressInfo } from 'node:net'
import cors from '@fastify/cors'
import fastify from 'fastify'
import { engine } from 'hapax'
import { guard } from 'hapax/fastify'
import { memoryStore } from 'hapax/memory'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gate } from '../support/waiting.js'
import { api } from './support/http-api.js'
import { adapters, ask, type Got, json } from './support/http-site.js'

/** A page of another origin can send a key, and read what it needs in order to retry well. */

const origin = { origin: 'https://shop.example' }

describe.each(adapters)('on %s', (adapter) => {
  test('a page may read that an answer is a replay, until when its key lives, and when to come back [G-13]', async () => {
    const [begun, go] = [gate(), gate()]
    const { ask } = await api(adapter, {
      routes: [
        {
          async handler() {
            begun.open()
            await go.opened
            return json(201, {})
          },
        },
      ],
    })
    const first = ask({ headers: origin })
    await begun.opened
    const inProgress = await ask({ headers: origin })
    go.open()
    expect(inProgress.status).toBe(409)
    expect(exposedBy(inProgress)).toContain('retry-after')
    expect(exposedBy(await first)).toEqual(['idempotency-key-expires'])
    const replay = await ask({ headers: origin })
    expect(exposedBy(replay)).toEqual(['idempotency-key-expires', 'idempotent-replayed'])
    // Only what is there is named, and it is there to be read.
    for (const name of exposedBy(replay)) expect(replay.headers[name]).toBeDefined()
    expect(exposedBy(await ask())).toEqual([])
  })

  test('a preflight brings no key and is not held up: the application itself allows the request header [G-13]', async () => {
    const allowed = [['Access-Control-Allow-Headers', 'Idempotency-Key, Content-Type']] as const
    const { ask, rows } = await api(adapter, { routes: [{ handler: () => ({ status: 204, headers: allowed }) }] })
    const asked = {
      ...origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'idempotency-key',
    }
    const preflight = await ask({ method: 'OPTIONS', key: undefined, headers: asked })
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([204, allowed[0][1]])
    expect(rows()).toEqual([])
  })
})

test('with the usual plugin: the preflight allows the header, the request runs, its replay shows both its own and our headers [G-13]', async () => {
  const hapax = engine({ store: memoryStore() })
  const app = fastify({ forceCloseConnections: true })
  onTestFinished(() => app.close())
  await app.register(cors, {
    origin: origin.origin,
    allowedHeaders: ['Idempotency-Key', 'Content-Type'],
    exposedHeaders: ['X-Request-Id'],
  })
  let runs = 0
  app.post('/payments', guard(hapax, { name: 'payments', scope: () => 'acme' }, { handler: () => ({ id: ++runs }) }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const preflight = await ask(port, {
    method: 'OPTIONS',
    key: undefined,
    headers: {
      ...origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'idempotency-key',
    },
  })
  expect(preflight.status).toBe(204)
  expect(String(preflight.headers['access-control-allow-headers']).toLowerCase()).toContain('idempotency-key')
  expect(runs).toBe(0)
  await ask(port, { headers: origin })
  const replay = await ask(port, { headers: origin })
  expect([replay.status, replay.headers['access-control-allow-origin'], runs]).toEqual([200, origin.origin, 1])
  expect(exposedBy(replay)).toEqual(['idempotency-key-expires', 'idempotent-replayed', 'x-request-id'])
})

function exposedBy({ headers }: Got): string[] {
  const names = headers['access-control-expose-headers']?.toLowerCase().split(', ') ?? []
  return names.filter((name) => name !== 'location').sort()
}
