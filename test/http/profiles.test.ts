import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keyFormats, profiles } from 'hapax'
import { guard } from 'hapax/node'
import { afterEach, describe, expect, test } from 'vitest'
import { engine } from '../../src/engine/engine.js'
import type { Reply } from '../../src/http/exchange.js'
import { profiles as sourceProfiles } from '../../src/http/profiles/profiles.js'
import { type RouteOptions, routeOf } from '../../src/http/route.js'
import { memoryStore } from '../../src/stores/memory.js'
import { bench } from '../support/bench.js'
import { gate } from '../support/waiting.js'

type Name = keyof typeof profiles
type Options = Partial<Parameters<typeof guard>[1]>

const hour = 3_600_000
const key = '8e03978e-40d5-43dd-bc93-6894a57f9324'
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A guarded route on a real port. The handler is given how often it ran. */
async function api(
  profile: Name,
  options: Options = {},
  handler: (runs: number) => Reply | Promise<Reply> = (runs) => json(201, { id: runs }),
) {
  const given = bench()
  let runs = 0
  const current: Options = profile === 'finastra' ? { currentState: () => undefined } : {}
  const route = { name: 'orders.create', scope: () => 'acme', profile: profiles[profile], ...current, ...options }
  const orders = guard(given.hapax, route, () => handler(++runs))
  const server = createServer((request, response) => void orders(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  return {
    ...given,
    runs: () => runs,
    async post(headers: Record<string, string> = { 'Idempotency-Key': key }, body: unknown = { cents: 100 }) {
      const response = await fetch(`http://127.0.0.1:${port}/orders`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
  }
}

/** Such an API whose first request is under way until it is let go. */
async function busyApi(profile: Name) {
  const begun = gate()
  const go = gate()
  const made = await api(profile, {}, async (runs) => {
    begun.open()
    await go.opened
    return json(201, { id: runs })
  })
  const first = made.post()
  await begun.opened
  return {
    ...made,
    async letGo() {
      go.open()
      return first
    },
  }
}

function json(status: number, value: unknown): Reply {
  return { status, headers: [['Content-Type', 'application/json']], body: Buffer.from(JSON.stringify(value)) }
}

const names = Object.keys(profiles) as Name[]
const plain = 'application/json'
const problem = 'application/problem+json'

/** What each contract says to a client, as JSON texts. Where only a part of a problem is its own, that part. */
interface Said {
  readonly status: number
  readonly mediaType: string
  readonly body: object
}
const reused = 'idempotency_key_reused_with_different_payload'
const said: Record<Name, { missing: Said; reused: Said; inProgress: Said; unavailable: Said }> = {
  ietf: problemsOf(),
  finastra: problemsOf(),
  brandur: problemsOf(),
  stripe: {
    missing: {
      status: 400,
      mediaType: plain,
      body: { error: { type: 'invalid_request_error', code: 'idempotency_key_missing' } },
    },
    reused: {
      status: 400,
      mediaType: plain,
      body: {
        error: {
          type: 'idempotency_error',
          message: expect.stringMatching(
            /^Keys for idempotent requests can only be used with the same parameters they were first used with\./,
          ),
        },
      },
    },
    inProgress: {
      status: 409,
      mediaType: plain,
      body: {
        error: {
          type: 'invalid_request_error',
          code: 'idempotency_key_in_use',
          message: expect.stringMatching(/^There is currently another in-progress request using this Idempotent Key /),
        },
      },
    },
    unavailable: { status: 503, mediaType: plain, body: { error: { type: 'api_error' } } },
  },
  marketplace: {
    missing: { status: 400, mediaType: plain, body: { error: { code: 'IDEMPOTENCY_KEY_MISSING' } } },
    reused: { status: 409, mediaType: plain, body: { error: { code: 'IDEMPOTENCY_KEY_REUSED' } } },
    inProgress: { status: 409, mediaType: plain, body: { error: { code: 'IDEMPOTENCY_KEY_IN_PROGRESS' } } },
    unavailable: { status: 503, mediaType: plain, body: { error: { code: 'IDEMPOTENCY_STORE_UNAVAILABLE' } } },
  },
  boundary: {
    missing: { status: 400, mediaType: plain, body: { code: 'idempotency_key_missing' } },
    reused: { status: 422, mediaType: plain, body: { code: reused } },
    inProgress: { status: 409, mediaType: plain, body: { code: 'idempotency_key_in_progress' } },
    unavailable: { status: 503, mediaType: plain, body: { code: 'idempotency_store_unavailable' } },
  },
}

function problemsOf() {
  const of = (status: number, code: string): Said => ({ status, mediaType: problem, body: { status, code } })
  return {
    missing: of(400, 'idempotency_key_missing'),
    reused: of(422, reused),
    inProgress: of(409, 'idempotency_key_in_progress'),
    unavailable: of(503, 'idempotency_store_unavailable'),
  }
}

interface Got {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

function expectSaid(got: Got, { status, mediaType, body }: Said): void {
  expect(got.status).toBe(status)
  expect(got.headers.get('Content-Type')).toBe(mediaType)
  expect(got.headers.get('Cache-Control')).toBe('no-store')
  expect(JSON.parse(got.text)).toMatchObject(body)
  expect(got.text).not.toContain(key)
}

describe.each(names)('in the profile %s', (name) => {
  test('a request without a key is told so, and nothing runs', async () => {
    const { post, runs } = await api(name)
    expectSaid(await post({}), said[name].missing)
    expect(runs()).toBe(0)
  })

  test('a key of another request is told so, and nothing runs for it', async () => {
    const { post, runs } = await api(name)
    await post()
    expectSaid(await post(undefined, { cents: 200 }), said[name].reused)
    expect(runs()).toBe(1)
  })

  test('a duplicate of a request under way is told so and when to come back; then it gets the answer', async () => {
    const { post, letGo, runs } = await busyApi(name)
    const duplicate = await post()
    expectSaid(duplicate, said[name].inProgress)
    expect(Number(duplicate.headers.get('Retry-After'))).toBeGreaterThan(0)
    const first = await letGo()
    expect(await post()).toMatchObject({ status: first.status, text: first.text })
    expect(runs()).toBe(1)
  })

  test('a reused key is told so before it is told that the first still runs', async () => {
    const { post, letGo } = await busyApi(name)
    expectSaid(await post(undefined, { cents: 200 }), said[name].reused)
    await letGo()
  })

  test('a store that is down is told so, and nothing runs', async () => {
    const { post, runs, faults } = await api(name)
    faults.breakAt('reserve', 'before')
    expectSaid(await post(), said[name].unavailable)
    expect(runs()).toBe(0)
  })

  test('a replay is marked, the first answer is not', async () => {
    const { post } = await api(name)
    expect((await post()).headers.get('Idempotent-Replayed')).toBeNull()
    expect((await post()).headers.get('Idempotent-Replayed')).toBe('true')
  })

  test('a refusal of the handler is stored and replayed', async () => {
    const { post, runs } = await api(name, {}, (runs) => json(402, { declined: runs }))
    const first = await post()
    expect(await post()).toMatchObject({ status: 402, text: first.text })
    expect(runs()).toBe(1)
  })
})

describe('lengths of keys', () => {
  const lengths: Record<Name, readonly [shortest: number, longest: number]> = {
    ietf: [1, 255],
    stripe: [1, 255],
    finastra: [1, 40],
    marketplace: [1, 255],
    brandur: [1, 100],
    boundary: [16, 255],
  }
  test.each(names)('%s takes its shortest and its longest key, and refuses the next with 400', async (name) => {
    const { post, runs } = await api(name)
    const [shortest, longest] = lengths[name]
    const send = async (length: number) => (await post({ 'Idempotency-Key': 'k'.repeat(length) })).status
    expect([await send(shortest), await send(longest)]).toEqual([201, 201])
    expect(await send(shortest - 1)).toBe(400)
    expect(await send(longest + 1)).toBe(400)
    expect(runs()).toBe(2)
  })

  test('boundary counts without the whitespace around a key', async () => {
    const { post } = await api('boundary')
    expect((await post({ 'Idempotency-Key': `  ${'k'.repeat(15)}  ` })).status).toBe(400)
  })

  test('finastra takes the key of its own sample', async () => {
    const { post } = await api('finastra')
    expect((await post({ 'Idempotency-Key': 'A8Z5MHwQS7jUmZ' })).status).toBe(201)
  })

  test('stripe and brandur take a key as it is: quotes make another key', async () => {
    for (const name of ['stripe', 'brandur'] as const) {
      const { post, runs } = await api(name)
      await post({ 'Idempotency-Key': 'k-1' })
      await post({ 'Idempotency-Key': '"k-1"' })
      expect(runs()).toBe(2)
    }
  })
})

describe('what is stored', () => {
  const fails = (runs: number) => json(500, { failure: runs })

  test.each(['stripe', 'finastra'] as const)('%s keeps a 500 and replays it byte for byte', async (name) => {
    const { post, runs, record } = await api(name, {}, fails)
    const first = await post()
    expect(await record(key)).toMatchObject({ state: 'completed', answer: { status: 500 } })
    const again = await post()
    expect(again).toMatchObject({ status: 500, text: first.text })
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(runs()).toBe(1)
  })

  test.each(['stripe', 'finastra'] as const)('%s keeps what a handler threw as a 500', async (name) => {
    const { post, runs } = await api(name, {}, () => {
      throw new Error('secret of the handler')
    })
    const first = await post()
    expect(first.status).toBe(500)
    expect(first.text).not.toContain('secret')
    expect(first.headers.get('Idempotent-Replayed')).toBeNull()
    const again = await post()
    expect(again).toMatchObject({ status: 500, text: first.text })
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    for (const { headers } of [first, again]) expect(headers.get('Cache-Control')).toBe('no-store')
    expect(runs()).toBe(1)
  })

  test.each(['ietf', 'marketplace', 'brandur'] as const)('%s lets a 500 be tried again', async (name) => {
    const { post, runs } = await api(name, {}, (runs) => (runs === 1 ? fails(runs) : json(201, { id: runs })))
    expect((await post()).status).toBe(500)
    expect((await post()).status).toBe(201)
    expect((await post()).text).toBe('{"id":2}')
    expect(runs()).toBe(2)
  })

  test('boundary doubts a failure that nobody explained, and never runs it again', async () => {
    const { post, runs, record } = await api('boundary', {}, fails)
    await post()
    expect(await record(key)).toMatchObject({ state: 'unknown' })
    expect(await post()).toMatchObject({ status: 409, text: '{"code":"outcome_unknown"}' })
    expect(runs()).toBe(1)
  })
})

describe('how long', () => {
  const windows: Record<Name, number> = {
    ietf: 24 * hour,
    stripe: 24 * hour,
    finastra: 24 * hour,
    marketplace: 24 * hour,
    brandur: 24 * hour,
    boundary: 48 * hour,
  }
  test.each(names)('%s replays within its window, and runs as new right after it', async (name) => {
    const { post, runs, clock } = await api(name)
    await post()
    await clock.advance(windows[name] - 1)
    await post()
    expect(runs()).toBe(1)
    await clock.advance(1)
    await post()
    expect(runs()).toBe(2)
  })

  const leases: Record<Name, number> = {
    ietf: 30_000,
    stripe: 30_000,
    finastra: 30_000,
    marketplace: 30_000,
    brandur: 90_000,
    boundary: 300_000,
  }
  test.each(names)('%s holds a key that is being worked on for its lease, in the row', async (name) => {
    const { clock, record, letGo } = await busyApi(name)
    expect(await record(key)).toMatchObject({
      leaseUntil: clock.now() + leases[name],
      expiresAt: clock.now() + windows[name],
    })
    await letGo()
  })
})

describe('to the letter', () => {
  test('marketplace answers a reused key', async () => {
    const { post } = await api('marketplace')
    await post({ 'Idempotency-Key': 'my-static-key' })
    const { text } = await post({ 'Idempotency-Key': 'my-static-key' }, { cents: 200 })
    expect(text).toBe(
      '{"error":{"code":"IDEMPOTENCY_KEY_REUSED","message":"This idempotency key was used with a different request body"}}',
    )
  })

  test('marketplace answers a key in progress', async () => {
    const { post, letGo } = await busyApi('marketplace')
    const { text } = await post()
    expect(text).toBe(
      '{"error":{"code":"IDEMPOTENCY_KEY_IN_PROGRESS","message":"A request with this key is still being processed"}}',
    )
    await letGo()
  })

  test.each([
    ['a reused key', 'reused', 'false'],
    ['a key in progress', 'in progress', 'true'],
  ] as const)('stripe tells its client libraries whether to retry: %s', async (_, what, shouldRetry) => {
    const { post, letGo } = await busyApi('stripe')
    const { headers } = await post(undefined, what === 'reused' ? { cents: 200 } : undefined)
    expect(headers.get('Stripe-Should-Retry')).toBe(shouldRetry)
    await letGo()
  })
})

describe('a route', () => {
  test('that says otherwise is heard before its profile', async () => {
    const { post, runs, clock, record } = await api('stripe', { retention: '7d', lease: '10s', onError: 'retry' }, () =>
      json(500, {}),
    )
    await post()
    expect(await record(key)).toMatchObject({ retentionMs: 7 * 24 * hour })
    await clock.advance(1)
    await post()
    expect(runs()).toBe(2)
  })

  test('that says undefined has said nothing', async () => {
    const nothing = { retention: undefined, onError: undefined } as object
    const { post, record } = await api('boundary', { ...nothing, keyRules: { minLength: undefined } as object })
    expect((await post({ 'Idempotency-Key': 'k'.repeat(15) })).status).toBe(400)
    await post()
    expect(await record(key)).toMatchObject({ retentionMs: 48 * hour })
  })

  test('of marketplace may demand a UUID', async () => {
    const { post, runs } = await api('marketplace', { keyRules: { format: keyFormats.uuid } })
    expect((await post({ 'Idempotency-Key': 'abc-123' })).status).toBe(400)
    expect((await post()).status).toBe(201)
    expect(runs()).toBe(1)
  })

  test('changes no profile for others', async () => {
    const before = JSON.stringify(profiles)
    await api('finastra', { keyRules: { maxLength: 10 }, retention: '7d' })
    expect(JSON.stringify(profiles)).toBe(before)
  })

  test.each([
    ['replays the current state and cannot look it up', { profile: sourceProfiles.finastra }],
    ['can look up a state that its profile never replays', { currentState: () => ({}) }],
  ] satisfies [string, Partial<RouteOptions<string>>][])('that %s refuses to start', (_, options) => {
    const hapax = engine({ store: memoryStore() })
    const route = () => routeOf(hapax, { name: 'orders.create', scope: () => 'acme', ...options })
    expect(route).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  })
})

describe('a replay under finastra', () => {
  const stored = json(202, { id: 7, status: 'pending' })
  const replay = (currentState: RouteOptions<string>['currentState'], answer: Reply = stored) => {
    const hapax = engine({ store: memoryStore() })
    const options = { name: 'orders.create', scope: () => 'acme', profile: sourceProfiles.finastra }
    return routeOf(hapax, { ...options, ...(currentState && { currentState }) }).replay(answer, 'the request')
  }

  test('is 201 with the state that the resource has by now, found by the stored reply and the request', async () => {
    const seen: unknown[] = []
    const { status, headers, body } = await replay((...given) => {
      seen.push(...given)
      return { id: 7, status: 'settled' }
    })
    expect(seen).toEqual([stored, 'the request'])
    expect(status).toBe(201)
    expect(headers).toEqual([['content-type', 'application/json']])
    expect(Buffer.from(body).toString()).toBe('{"id":7,"status":"settled"}')
  })

  test('comes through the door: created, settled by others, then told as it is now', async () => {
    let status = 'pending'
    const currentState = (first: Reply) => ({ ...JSON.parse(Buffer.from(first.body).toString()), status })
    const { post, runs } = await api('finastra', { currentState }, (runs) => json(202, { id: runs, status }))
    expect(await post()).toMatchObject({ status: 202, text: '{"id":1,"status":"pending"}' })
    status = 'settled'
    const again = await post()
    expect(again).toMatchObject({ status: 201, text: '{"id":1,"status":"settled"}' })
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(again.headers.get('Content-Type')).toBe('application/json')
    expect(runs()).toBe(1)
  })

  test('keeps where the resource is, and drops what was said of the old body', async () => {
    const headers = [
      ['Content-Type', 'text/plain'],
      ['ETag', '"1"'],
      ['Location', '/orders/7'],
    ] as const
    const reply = await replay(async () => ({ id: 7 }), { ...stored, headers })
    expect(reply.headers).toEqual([
      ['content-type', 'application/json'],
      ['Location', '/orders/7'],
    ])
  })

  test('of a failure is the stored failure, and nobody is asked', async () => {
    const asked = () => expect.unreachable('a failure made no resource')
    for (const status of [400, 402, 500]) expect(await replay(asked, json(status, {}))).toEqual(json(status, {}))
  })

  test('without anything newer is the stored reply', async () => {
    expect(await replay(() => undefined)).toBe(stored)
  })
})
