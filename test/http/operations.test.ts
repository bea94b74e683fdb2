import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type Operation, type Profile, profiles } from 'hapax'
import { guard as expressGuard } from 'hapax/express'
import { guard as fastifyGuard } from 'hapax/fastify'
import { guard as fetchGuard } from 'hapax/fetch'
import { guard as nodeGuard } from 'hapax/node'
import type { SqliteTransaction } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { collected, listening } from '../support/http-serving.js'
import { insertRide, type WorkBench, workBench } from '../support/work-bench.js'

type Tx = SqliteTransaction
type Hapax = WorkBench['hapax']

/** What the routes of all adapters have in common. */
interface Options {
  readonly operation: Operation<Tx, never>
  readonly profile?: Profile
  readonly keepHeaders?: readonly string[]
  /** What is made of the path, where the input is not the body. */
  readonly inputOf?: (path: string) => unknown
}
interface Served {
  readonly port: number
  close(): Promise<void>
}

const scope = () => 'acme'

const adapters: Record<string, (hapax: Hapax, options: Options) => Promise<Served>> = {
  fetch(hapax, { inputOf, ...options }) {
    const input = inputOf && { input: ({ url }: Request) => inputOf(new URL(url).pathname) as never }
    const handle = fetchGuard(hapax, { ...options, scope, ...input })
    return listening(async (incoming, outgoing) => {
      const bytes = await collected(incoming)
      const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)])
      const body = bytes.byteLength > 0 ? { body: Uint8Array.from(bytes) } : {}
      const method = incoming.method ?? ''
      const request = new Request(`http://localhost${incoming.url}`, { method, headers, ...body })
      const response = await handle(request).catch(() => new Response(null, { status: 500 }))
      outgoing.writeHead(response.status, [...response.headers].flat())
      outgoing.end(new Uint8Array(await response.arrayBuffer()))
    })
  },
  node(hapax, { inputOf, ...options }) {
    const input = inputOf && { input: ({ url = '' }: IncomingMessage) => inputOf(url) as never }
    const handle = nodeGuard(hapax, { ...options, scope, ...input })
    return listening((request, response) => void handle(request, response))
  },
  express(hapax, { inputOf, ...options }) {
    const input = inputOf && { input: ({ path }: express.Request) => inputOf(path) as never }
    return listening(express().all('/rides', expressGuard(hapax, { ...options, scope, ...input })))
  },
  async fastify(hapax, { inputOf, ...options }) {
    const input = inputOf && { input: ({ url }: FastifyRequest) => inputOf(url) as never }
    const app = fastify({ forceCloseConnections: true })
    app.all('/rides', fastifyGuard(hapax, { ...options, scope, ...input }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
  },
}

interface Sent {
  readonly method?: string
  readonly key?: string
  readonly body?: string
}

async function served(adapter: string, bench: WorkBench, options: Options) {
  const { port, close } = (await adapters[adapter]?.(bench.hapax, options)) ?? expect.fail('no such adapter')
  onTestFinished(close)
  return async ({ method = 'POST', key = '"k"', body = '{"who":"ann"}' }: Sent = {}) => {
    const type = method === 'POST' ? { 'content-type': 'application/json' } : undefined
    const headers = { ...type, 'idempotency-key': key }
    const response = await fetch(`http://127.0.0.1:${port}/rides`, {
      method,
      headers,
      ...(method === 'POST' && { body }),
    })
    const { status } = response
    return { status, header: (name: string) => response.headers.get(name), text: await response.text() }
  }
}

/** Leaves its first attempts half-done. */
function rides(hapax: Hapax, failures = 0, options = {}) {
  return hapax.operation('rides.create', { version: 1, ...options }, async (work, input: { who: string }) => {
    const ride = await work.transaction('ride_created', ({ tx }) => insertRide(tx, input.who))
    if (work.attempt <= failures) throw new Error('secret of the database')
    return work.commit(() => ({
      status: 201,
      body: { ride, spelling: 'ünï' },
      headers: { location: `/rides/${input.who}`, 'set-cookie': 'session=1', 'x-cost': '3', 'x-internal': 'yes' },
    }))
  })
}

describe('an operation that is bound to two routes', () => {
  const custom = (title: string): Profile => ({
    ...profiles.ietf,
    name: 'ours',
    problem: ({ status }) => ({ mediaType: 'application/json', body: { title, status } }),
  })

  test('may be bound to the same kind of route again, as an application does that loads its modules anew', async () => {
    const { hapax } = await workBench()
    const operation = rides(hapax)
    const options = () => ({ operation, scope, profile: custom('no'), keepHeaders: ['X-Cost', 'X-Trace'] })
    for (const _ of [1, 2]) fetchGuard(hapax, options())
    fetchGuard(hapax, { ...options(), keepHeaders: ['x-trace', 'x-cost'], keyRules: { maxLength: 40 } })
  })

  test.each([
    ['another profile', { profile: profiles.stripe }],
    ['other headers', { keepHeaders: ['X-Cost'] }],
  ])('is refused for %s: what a worker finishes is written in one way', async (_what, others) => {
    const { hapax } = await workBench()
    const operation = rides(hapax)
    fetchGuard(hapax, { operation, scope })
    expect(() => fetchGuard(hapax, { operation, scope, ...others })).toThrow(
      expect.objectContaining({
        code: 'policy_invalid',
        message: expect.stringContaining('make an operation for each'),
      }),
    )
    // The first stands.
    fetchGuard(hapax, { operation, scope })
  })
})

describe.each(Object.keys(adapters))('a route of %s that is bound to an operation', (adapter) => {
  test('answers with the same bytes on the first run and on every replay', async () => {
    const bench = await workBench()
    const send = await served(adapter, bench, { operation: rides(bench.hapax), keepHeaders: ['X-Cost'] })
    const first = await send()
    expect(first).toMatchObject({ status: 201, text: '{"ride":{"name":"ann"},"spelling":"ünï"}' })
    expect(first.header('content-type')).toMatch(/^application\/json/)
    expect(first.header('set-cookie')).toBe('session=1')
    const replay = await send()
    expect(replay).toMatchObject({ status: 201, text: first.text })
    expect(replay.header('idempotent-replayed')).toBe('true')
    expect(replay.header('location')).toBe('/rides/ann')
    expect(replay.header('set-cookie')).toBeNull()
    expect(await bench.rides()).toEqual(['ann'])
  })

  test('replays what a worker has answered as if a request had, with no more headers than that', async () => {
    const bench = await workBench()
    const send = await served(adapter, bench, { operation: rides(bench.hapax, 1), keepHeaders: ['X-Cost'] })
    expect((await send()).status).toBe(500)
    await bench.travel(3_600_000)
    expect(await bench.hapax.chores.resume(10)).toMatchObject([{ outcome: { kind: 'answered' } }])
    const replay = await send()
    expect(replay).toMatchObject({ status: 201, text: '{"ride":{"name":"ann"},"spelling":"ünï"}' })
    expect(replay.header('idempotent-replayed')).toBe('true')
    expect(replay.header('location')).toBe('/rides/ann')
    expect(replay.header('x-cost')).toBe('3')
    expect(replay.header('set-cookie')).toBeNull()
    expect(replay.header('x-internal')).toBeNull()
    expect(await bench.rides()).toEqual(['ann'])
  })

  test('tells no client what an operation threw in the background', async () => {
    const bench = await workBench()
    const operation = bench.hapax.operation('rides.create', { version: 1, onError: 'store' }, async (work) => {
      await work.transaction('ride_created', ({ tx }) => insertRide(tx, 'ann'))
      if (work.attempt === 1) return { status: 429, body: {} }
      throw new Error('secret of the database')
    })
    const send = await served(adapter, bench, { operation: operation as never })
    expect((await send()).status).toBe(429)
    await bench.travel(3_600_000)
    await bench.hapax.chores.resume(10)
    const replay = await send()
    expect(replay.status).toBe(500)
    expect(replay.header('content-type')).toMatch(/problem\+json/)
    expect(replay.text).not.toContain('secret')
  })

  test('takes its input from the body, or from a function of its own', async () => {
    const bench = await workBench()
    const seen: unknown[] = []
    const noted = (name: string) =>
      bench.hapax.operation(name, { version: 1 }, (_, input: unknown) => {
        seen.push(input)
        return { status: 200, body: 1 }
      })
    const byBody = await served(adapter, bench, { operation: noted('by.body') as never })
    await byBody({ body: '{"amount":12,"who":"ann"}' })
    const byPath = await served(adapter, bench, {
      operation: noted('by.path') as never,
      inputOf: (path) => ({ path }),
    })
    await byPath({ key: '"k2"' })
    expect(seen).toEqual([{ amount: 12, who: 'ann' }, { path: '/rides' }])
  })

  test('refuses a body that is no JSON, and stores nothing', async () => {
    const bench = await workBench()
    const send = await served(adapter, bench, { operation: rides(bench.hapax) })
    expect((await send({ body: '{"who":' })).status).toBe(400)
    expect(await bench.record()).toBeUndefined()
    expect((await send()).status).toBe(201)
  })

  test('has nothing to do for a method that it does not guard', async () => {
    const bench = await workBench()
    const send = await served(adapter, bench, { operation: rides(bench.hapax) })
    const answer = await send({ method: 'DELETE' })
    expect(answer.status).toBe(405)
    expect(answer.header('allow')).toContain('POST')
    expect(await bench.rides()).toEqual([])
  })

  test('does what its profile says where the operation says nothing', async () => {
    const bench = await workBench()
    let runs = 0
    const failing = (name: string) =>
      bench.hapax.operation(name, { version: 1 }, () => {
        runs++
        return { status: 500, body: { failed: runs } }
      })
    const ietf = await served(adapter, bench, { operation: failing('as.ietf') as never })
    const answers = [await ietf(), await ietf()].map(({ status, text }) => [status, text])
    expect(answers).toEqual([
      [500, '{"failed":1}'],
      [500, '{"failed":2}'],
    ])
    const stripe = await served(adapter, bench, { operation: failing('as.stripe') as never, profile: profiles.stripe })
    const stored = [await stripe({ key: 'k-stripe' }), await stripe({ key: 'k-stripe' })]
    expect(stored.map(({ status, text }) => [status, text])).toEqual([
      [500, '{"failed":3}'],
      [500, '{"failed":3}'],
    ])
    expect(stored[1]?.header('idempotent-replayed')).toBe('true')
  })
})

describe('what contradicts the binding is refused at start', () => {
  const guards = { fetch: fetchGuard, node: nodeGuard, express: expressGuard, fastify: fastifyGuard }

  test.each(Object.entries(guards))('%s: a handler beside the operation', async (name, guard) => {
    const { hapax } = await workBench()
    const operation = rides(hapax)
    const handler = name === 'fastify' ? { handler: () => 1 } : () => 1
    expect(() => (guard as never as (...args: unknown[]) => unknown)(hapax, { scope, operation }, handler)).toThrow(
      expect.objectContaining({ name: 'HapaxError' }),
    )
  })

  test.each(Object.entries(guards))('%s: what a policy says, said at the route', async (_, guard) => {
    const { hapax } = await workBench()
    const options = { scope, operation: rides(hapax), retention: '7d' }
    expect(() => (guard as never as (...args: unknown[]) => unknown)(hapax, options)).toThrow(
      /say retention where the operation is made/,
    )
  })

  test('an operation of another engine, or something that is none', async () => {
    const bench = await workBench()
    const operation = rides(bench.node())
    expect(() => fetchGuard(bench.hapax, { scope, operation })).toThrow(/another engine/)
    expect(() => fetchGuard(bench.hapax, { scope, operation: { name: 'x' } as never })).toThrow(/hapax.operation/)
  })
})
