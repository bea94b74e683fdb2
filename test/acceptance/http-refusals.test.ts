import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import { type Engine, keyFormats, profiles } from 'hapax'
import { guard as expressGuard } from 'hapax/express'
import { guard } from 'hapax/fastify'
import { guard as fetchGuard } from 'hapax/fetch'
import { guard as nodeGuard } from 'hapax/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'
import { withoutRecords } from './support/database.js'
import { adapters, ask, json, key, site } from './support/http-site.js'

/** Who is refused, by whom, and that a refusal leaves nothing behind. */

/** Fastify with an authentication, a limiter and a schema of its own, all in front of the guard. */
async function shop() {
  const given = bench()
  const allowed = new Set(['token-1'])
  let [runs, left] = [0, 100]
  const app = fastify()
  onTestFinished(() => app.close())
  app.post(
    '/payments',
    guard(
      given.hapax,
      { name: 'payments.create', scope: () => 'acme' },
      {
        schema: { body: { type: 'object', required: ['amount'], properties: { amount: { type: 'integer' } } } },
        async onRequest({ headers }, reply) {
          if (!allowed.has(String(headers.authorization))) return reply.code(403).send({ error: 'forbidden' })
          return left-- > 0 ? undefined : reply.code(429).send({ error: 'too many' })
        },
        handler: () => ({ id: ++runs }),
      },
    ),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return {
    ...given,
    runs: () => runs,
    revoke: () => allowed.clear(),
    allow: (more: number) => {
      left = more
    },
    left: () => left,
    pay: (body: string, token = 'token-1') => ask(port, { body, headers: { authorization: token } }),
  }
}

test('who is turned away before anything began has used no key: the corrected request runs under it [S0-11]', async () => {
  const { pay, allow, runs, record } = await shop()
  const paid = '{"amount":100}'
  expect((await pay('{"amount":"much"}')).status).toBe(400)
  expect((await pay('{"amount":')).status).toBe(400)
  expect((await pay(paid, 'stolen')).status).toBe(403)
  allow(0)
  expect((await pay(paid)).status).toBe(429)
  expect([await record(key), runs()]).toEqual([undefined, 0])
  allow(2)
  expect(await pay(paid)).toMatchObject({ status: 200, text: '{"id":1}', replayed: false })
  expect(await pay(paid)).toMatchObject({ status: 200, text: '{"id":1}', replayed: true })
})

test('a replay passes authentication and the limiter like any request, and is counted by it [G-16]', async () => {
  const { pay, allow, left, revoke, runs } = await shop()
  const paid = '{"amount":100}'
  allow(3)
  for (const replayed of [false, true, true]) expect(await pay(paid)).toMatchObject({ status: 200, replayed })
  expect(left()).toBe(0)
  expect(await pay(paid)).toMatchObject({ status: 429, replayed: false })
  allow(3)
  revoke()
  const refused = await pay(paid)
  expect([refused.status, refused.text, refused.replayed]).toEqual([403, '{"error":"forbidden"}', false])
  expect(runs()).toBe(1)
})

describe.each(adapters)('on %s', (adapter) => {
  test('a changed body is reported as misuse, with the tenant whose key it was, and changes nothing [S0-15]', async () => {
    const { ask, heard, rows, runs } = await site(adapter)
    await ask()
    const before = rows()
    for (const body of ['{"amount":900}', '{"amount":901}']) expect((await ask({ body })).status).toBe(422)
    expect((await ask({ body: '{"amount":1}', headers: { 'x-tenant': 'globex' } })).status).toBe(201)
    expect((await ask({ body: '{"amount":2}', headers: { 'x-tenant': 'globex' } })).status).toBe(422)
    const misuse = heard.filter(({ name }) => name === 'mismatched').map(({ event }) => event)
    expect(misuse).toMatchObject(['acme', 'acme', 'globex'].map((scope) => ({ scope, operation: 'operation-0' })))
    expect(JSON.stringify(misuse)).not.toContain(key)
    expect(rows().filter(({ scope_id }) => scope_id === 'acme')).toEqual(before)
    expect(runs()).toBe(2)
  })

  test('nothing that the guard itself refuses is ever kept as an answer, where every failure is kept too [X-18]', async () => {
    const [begun, go] = [gate(), gate()]
    const { ask, rows, runs } = await site(adapter, {
      options: { profile: profiles.finastra, currentState: () => undefined, bodyLimit: 100 },
      async handler(runs) {
        begun.open()
        await go.opened
        return json(201, { id: runs })
      },
    })
    const refused = [
      await ask({ key: undefined }),
      await ask({ key: 'k'.repeat(41) }),
      await ask({ body: 'x'.repeat(101) }),
      await ask({ body: 'x', headers: { 'content-encoding': 'unheard-of' } }),
      await ask({ body: 'x', headers: { 'content-encoding': 'gzip' } }),
    ]
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 413, 415, 400])
    expect([rows(), runs()]).toEqual([[], 0])
    const first = ask()
    await begun.opened
    expect([(await ask()).status, (await ask({ body: '{}' })).status]).toEqual([409, 422])
    go.open()
    expect(await first).toMatchObject({ status: 201, replayed: false })
    expect((await ask({ body: '{}' })).status).toBe(422)
    expect(await ask()).toMatchObject({ status: 201, text: '{"id":1}', replayed: true })
    expect(runs()).toBe(1)
  })

  test('a 503 of the guard is no answer: once the store is back the request runs, once [X-18]', async () => {
    const { ask, path, rows, runs } = await site(adapter, {
      options: { profile: profiles.finastra, currentState: () => undefined },
    })
    await ask({ key: 'another' })
    const bringBack = withoutRecords(path)
    for (let time = 0; time < 2; time++) expect((await ask()).status).toBe(503)
    bringBack()
    expect([rows().length, runs()]).toEqual([1, 1])
    expect(await ask()).toMatchObject({ status: 201, text: '{"id":2}', replayed: false })
    expect(await ask()).toMatchObject({ status: 201, text: '{"id":2}', replayed: true })
  })

  test('one key of two tenants, of two people, or on two paths is never one request [X-06]', async () => {
    const scope = (header: (name: string) => string | undefined) => ({
      tenant: header('x-tenant') ?? 'acme',
      principal: header('x-user') ?? 'ann',
    })
    const { ask, runs, rows } = await site(adapter, { scope }, { scope, path: '/refunds' })
    const who = [
      { 'x-tenant': 'acme', 'x-user': 'ann' },
      { 'x-tenant': 'acme', 'x-user': 'bob' },
      { 'x-tenant': 'globex', 'x-user': 'ann' },
      { 'x-tenant': 'acme;principal=ann', 'x-user': 'ann' },
    ]
    for (const headers of who) expect(await ask({ headers })).toMatchObject({ status: 201, replayed: false })
    for (const headers of who) expect(await ask({ headers })).toMatchObject({ status: 201, replayed: true })
    expect([runs(), rows().length]).toEqual([4, 4])
    expect((await ask({ headers: who[0] ?? {}, path: '/refunds' })).status).toBe(422)
    expect((await ask({ headers: who[0] ?? {}, path: '/payments?to=mallory' })).status).toBe(422)
    expect(runs()).toBe(4)
  })

  test('keys that anybody could guess are refused where a route or its profile asks for better ones [S2-050]', async () => {
    const { ask, runs } = await site(
      adapter,
      { path: '/boundary', options: { profile: profiles.boundary } },
      { path: '/uuid', options: { keyRules: { format: keyFormats.uuid } } },
      { path: '/any' },
    )
    for (const guessed of ['1', 'test', 'order-17', '2026-01-01']) {
      const statuses = ['/boundary', '/uuid', '/any'].map(async (path) => (await ask({ path, key: guessed })).status)
      expect([guessed, ...(await Promise.all(statuses))]).toEqual([guessed, 400, 400, 201])
    }
    expect(runs()).toBe(4)
    expect((await ask({ path: '/boundary' })).status).toBe(201)
    expect((await ask({ path: '/uuid', key: '2f1c9a94-3f6e-4c1c-a1a0-0d7f5f1a2b3c' })).status).toBe(201)
  })
})

const guards: Record<string, (hapax: Engine<never>, options: never) => unknown> = {
  express: (hapax, options) => expressGuard(hapax, options, () => undefined),
  fastify: (hapax, options) => guard(hapax, options, { handler: () => undefined }),
  fetch: (hapax, options) => fetchGuard(hapax, options, () => new Response()),
  node: (hapax, options) => nodeGuard(hapax, options, () => ({ status: 200, headers: [], body: new Uint8Array() })),
}

test('every adapter is among those that are asked for a scope [S2-066]', () => {
  expect(Object.keys(guards)).toEqual(adapters)
})

test.each(adapters)('on %s a route without a scope does not start, and its name is told [S2-066 X-06]', (adapter) => {
  const { hapax } = bench()
  for (const scope of [undefined, null, 'acme']) {
    const start = () => guards[adapter]?.(hapax, { name: 'payments.create', scope } as never)
    expect(start).toThrow(expect.objectContaining({ code: 'scope_missing' }))
    expect(start).toThrow(/payments\.create/)
  }
})

test.each(adapters)(
  'on %s a scope that turns out empty refuses the request, and nothing runs [S2-066]',
  async (adapter) => {
    const { ask, runs, rows } = await site(adapter, { scope: () => '' })
    expect((await ask()).status).toBe(500)
    expect([runs(), rows()]).toEqual([0, []])
  },
)
