import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { type Engine, engine, type KeyStatusOptions, type PolicyOptions, type Store } from 'hapax'
import { keyStatus as expressStatus } from 'hapax/express'
import { keyStatus as fastifyStatus } from 'hapax/fastify'
import { keyStatus as fetchStatus } from 'hapax/fetch'
import { memoryStore } from 'hapax/memory'
import { keyStatus as nodeStatus } from 'hapax/node'
import { afterEach, describe, expect, test } from 'vitest'
import { listening } from '../support/http-serving.js'
import { manualClock } from '../support/manual-clock.js'
import { bounded, gate } from '../support/waiting.js'

/** It has no types of its own, and those of Express 5 do. */
const express4 = createRequire(import.meta.url)('express4') as typeof express

interface Served {
  readonly port: number
  close(): Promise<void>
}
/** What the routes of all adapters have in common. */
type Options = Omit<KeyStatusOptions<never>, 'scope'>
type Serve = (hapax: Engine<never>, options: Options) => Promise<Served>

/** The tenant is what a header says: this is a test of the route, and not of an authentication. */
const tenantHeader = 'x-tenant'

const adapters: Record<string, Serve> = {
  node(hapax, options) {
    const status = nodeStatus(hapax, { ...options, scope: ({ headers }) => String(headers[tenantHeader] ?? '') })
    return listening((request, response) => void status(request, response))
  },
  express: (hapax, options) => expressServed(express(), hapax, options),
  'express 4': (hapax, options) => expressServed(express4(), hapax, options),
  async fastify(hapax, options) {
    const app = fastify({ forceCloseConnections: true })
    const scope: KeyStatusOptions<fastify.FastifyRequest>['scope'] = ({ headers }) =>
      String(headers[tenantHeader] ?? '')
    app.get('/key', fastifyStatus(hapax, { ...options, scope }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
  },
  fetch(hapax, options) {
    const status = fetchStatus(hapax, { ...options, scope: ({ headers }) => headers.get(tenantHeader) ?? '' })
    return listening(async ({ url, headersDistinct }, outgoing) => {
      const headers = Object.entries(headersDistinct).flatMap(([name, lines = []]) =>
        lines.map((line): [string, string] => [name, line]),
      )
      const response = await status(new Request(`http://localhost${url}`, { headers }))
      outgoing
        .writeHead(response.status, [...response.headers].flat())
        .end(new Uint8Array(await response.arrayBuffer()))
    })
  },
}

function expressServed(app: express.Express, hapax: Engine<never>, options: Options): Promise<Served> {
  app.get('/key', expressStatus(hapax, { ...options, scope: (request) => request.get(tenantHeader) ?? '' }))
  return listening(app)
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const key = '8e03978e-40d5-43dd-bc93-6894a57f9324'

/** An engine with a status route on a real port, and time in the test's hand. */
async function given(adapter: string, options: Options = {}, broken: Partial<Store> = {}) {
  const clock = manualClock()
  const kept = memoryStore({ clock })
  const hapax: Engine<never> = engine({ store: { ...kept, ...broken }, clock, log: () => {} })
  const served = await (adapters[adapter] ?? Promise.reject)(hapax, options)
  closing.push(served.close)
  const policyOptions: PolicyOptions = { name: 'payments.create' }
  return {
    clock,
    kept,
    run: (handler: Parameters<typeof hapax.run>[1], more: Partial<PolicyOptions> = {}) => {
      const policy = hapax.policy({ ...policyOptions, ...more })
      return hapax.run({ scope: 'acme', key, input: { cents: 1 }, policy }, handler)
    },
    async ask(tenant = 'acme', headers: [string, string][] = [['Idempotency-Key', key]]) {
      const url = `http://127.0.0.1:${served.port}/key`
      const response = await bounded(fetch(url, { headers: [[tenantHeader, tenant], ...headers] }), 'an answer')
      const text = await response.text()
      const shown = [...response.headers].filter(([name]) => name !== 'date')
      return { status: response.status, headers: response.headers, shown, text, json: JSON.parse(text) }
    },
  }
}

const createdAt = '2023-11-14T22:13:20.000Z'

describe.each(Object.keys(adapters))('the status route of %s', (adapter) => {
  test('tells of a key whose request runs since when, and when to ask again', async () => {
    const { run, ask } = await given(adapter)
    const begun = gate()
    const go = gate()
    const running = run(async () => {
      begun.open()
      await go.opened
      return 'done'
    })
    await begun.opened
    const { status, headers, json } = await ask()
    go.open()
    await running
    expect(status).toBe(200)
    expect(json).toEqual({
      state: 'in_progress',
      operation: 'payments.create',
      attempt: 1,
      created_at: createdAt,
      retry_after: 2,
    })
    expect(headers.get('retry-after')).toBe('2')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('content-type')).toMatch(/^application\/json/)
  })

  test('tells of a key that was answered when, with which status, and until when it is kept', async () => {
    const { run, ask, clock } = await given(adapter)
    await run(async () => {
      await clock.advance(1_000)
      return { secret: 'the body stays in the store' }
    })
    const { status, text, json, headers } = await ask()
    expect(status).toBe(200)
    expect(json).toEqual({
      state: 'completed',
      operation: 'payments.create',
      attempt: 1,
      created_at: createdAt,
      completed_at: '2023-11-14T22:13:21.000Z',
      expires_at: '2023-11-15T22:13:21.000Z',
      status: 200,
    })
    expect(headers.has('retry-after')).toBe(false)
    for (const hidden of [key, 'secret', 'fingerprint', 'claim', 'fence', 'scope']) expect(text).not.toContain(hidden)
  })

  test('tells of a key that is kept for ever no end, and of an answer that was too large its status', async () => {
    const { run, ask } = await given(adapter)
    await run(async () => 'longer than a byte', { retention: 'forever', maxAnswerBytes: 1 })
    const { json } = await ask()
    expect(json).toMatchObject({ state: 'completed', status: 200 })
    expect(json).not.toHaveProperty('expires_at')
  })

  test('tells of a key that may be tried again which attempt failed', async () => {
    const { run, ask } = await given(adapter)
    const fail = () => run(() => Promise.reject(new Error('no luck'))).catch(() => {})
    await fail()
    await fail()
    const { status, json } = await ask()
    expect(status).toBe(200)
    expect(json).toEqual({
      state: 'failed_retryable',
      operation: 'payments.create',
      attempt: 2,
      created_at: createdAt,
      expires_at: '2023-11-15T22:13:20.000Z',
    })
  })

  test('tells of a doubt that nobody knows, and names no end: doubt does not expire', async () => {
    const { run, ask, clock } = await given(adapter)
    await run(async (work) => work.doubt('gateway_timeout')).catch(() => {})
    await clock.advance(48 * 3_600_000)
    const { status, headers, json } = await ask()
    expect(status).toBe(200)
    expect(json).toEqual({
      state: 'unknown',
      operation: 'payments.create',
      attempt: 1,
      created_at: createdAt,
      retry_after: 30,
    })
    expect(headers.get('retry-after')).toBe('30')
  })

  test('says the same bytes of a key that is absent, is buried, or is of another tenant', async () => {
    const { run, ask, clock, kept } = await given(adapter)
    const absent = await ask()
    await run(async () => 'done')
    const others = await ask('globex')
    expect((await ask()).status).toBe(200)
    await clock.advance(24 * 3_600_000)
    await kept.reap(10)
    const buried = await ask()
    expect(absent.status).toBe(404)
    expect(absent.json.code).toBe('idempotency_key_unknown')
    for (const same of [others, buried]) {
      expect([same.status, same.text]).toEqual([absent.status, absent.text])
      expect(same.shown).toEqual(absent.shown)
    }
    expect(absent.text).not.toContain(key)
  })

  test('shows a key past its retention, and when it ended, for as long as a retry could still be answered', async () => {
    const { run, ask } = await given(adapter)
    await run(async () => 'done')
    // The clock of the store stands in 2023: by that of this node the key has expired long ago.
    expect(await run(async () => 'again')).toMatchObject({ value: 'done', replayed: true })
    const { status, json } = await ask()
    expect(status).toBe(200)
    expect(json).toMatchObject({ state: 'completed', expires_at: '2023-11-15T22:13:20.000Z' })
  })

  test('refuses who asks too often, says for how long, and lets others ask', async () => {
    const { ask } = await given(adapter, { limit: { most: 2, per: '1m' } })
    expect((await ask()).status).toBe(404)
    expect((await ask('acme', [])).status).toBe(400)
    const { status, json, headers } = await ask()
    expect([status, json.code]).toEqual([429, 'rate_exceeded'])
    const seconds = Number(headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(60)
    expect((await ask('globex')).status).toBe(404)
  })

  test.each([
    ['no key', [], 'idempotency_key_missing'],
    ['an empty key', [['Idempotency-Key', '""']], 'idempotency_key_malformed'],
    ['a key that is too long', [['Idempotency-Key', 'x'.repeat(256)]], 'idempotency_key_malformed'],
    [
      'two keys',
      [
        ['Idempotency-Key', 'a'],
        ['Idempotency-Key', 'b'],
      ],
      'idempotency_key_malformed',
    ],
  ] as [string, [string, string][], string][])('refuses %s', async (_, headers, code) => {
    const { ask } = await given(adapter)
    const { status, json } = await ask('acme', headers)
    expect([status, json.code]).toEqual([400, code])
  })

  test('reads a key as its routes do', async () => {
    const { run, ask } = await given(adapter, { keyRules: { syntax: 'string' } })
    await run(async () => 'done')
    expect((await ask('acme', [['Idempotency-Key', `"${key}"`]])).status).toBe(200)
    expect((await ask()).status).toBe(400)
  })

  test('says that the store is down, and nothing of why', async () => {
    const { ask } = await given(adapter, {}, { find: () => Promise.reject(new Error('password is wrong')) })
    const { status, json, text, headers } = await ask()
    expect([status, json.code]).toEqual([503, 'idempotency_store_unavailable'])
    expect(text).not.toContain('password')
    expect(headers.get('retry-after')).toBe('1')
  })

  test('opens a store that nobody has opened yet, and says when it cannot', async () => {
    let opened = 0
    const { ask } = await given(adapter, {}, { open: async () => void ++opened })
    expect((await ask()).status).toBe(404)
    expect(opened).toBe(1)
    const closed = await given(adapter, {}, { open: () => Promise.reject(new Error('refused')) })
    expect((await closed.ask()).status).toBe(503)
  })

  test('tells nobody anything when its limiter cannot tell', async () => {
    const { run, ask } = await given(adapter, { limit: { consume: () => Promise.reject(new Error('gone')) } })
    await run(async () => 'done')
    expect((await ask()).status).toBe(503)
  })

  test('fails without a tenant, as a bug on this side', async () => {
    const { ask } = await given(adapter)
    const { status, json } = await ask('')
    expect([status, json.code]).toEqual([500, 'scope_missing'])
  })

  test('lets a page of another origin see when to ask again', async () => {
    const { ask } = await given(adapter, { limit: { most: 1, per: '1m' } })
    await ask()
    const { headers } = await ask('acme', [['Origin', 'https://shop.example.com']])
    expect(headers.get('access-control-expose-headers')?.toLowerCase()).toContain('retry-after')
  })
})

test('a status route without a scope does not start', () => {
  const hapax: Engine<never> = engine({ store: memoryStore(), log: () => {} })
  const without = {} as KeyStatusOptions<Request>
  expect(() => fetchStatus(hapax, without)).toThrow(expect.objectContaining({ code: 'scope_missing' }))
})
