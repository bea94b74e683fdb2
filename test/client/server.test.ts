import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Answer, type Engine, engine, type Profile, profiles } from 'hapax'
import { type Attempt, type ClientOptions, idempotentFetch, isClientError } from 'hapax/client'
import { memoryStore } from 'hapax/memory'
import { guard, type NodeHandler, type NodeOptions } from 'hapax/node'
import { sqliteStore } from 'hapax/sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { faultyStore } from '../support/faulty-store.js'
import { bodyOf, listening } from './support/servers.js'
import { attemptTimeout, skippingClock } from './support/skipping-clock.js'

/** The client in front of real servers: Hapax, as it is built, and others that behave badly. */

const post = { method: 'POST', body: '{"cents":1200}', headers: { 'content-type': 'application/json' } }

/** One request that the server is asked to guard, as its owner would set it up. */
async function shop(handler: NodeHandler<never>, options: Partial<NodeOptions> = {}, store = memoryStore()) {
  const hapax = engine({ store, log: () => {} }) as Engine<never>
  const listener = guard(hapax, { name: 'payments.create', scope: () => 'acme', ...options }, handler)
  onTestFinished(() => hapax.close())
  return { hapax, url: await listening((request, response) => void listener(request, response)) }
}

/** A request that is under way, until it is told to end. */
async function running(options: Partial<NodeOptions> = {}) {
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  let runs = 0
  let begun = () => {}
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  const { url } = await shop(async () => {
    runs++
    begun()
    await gate
    return paid()
  }, options)
  const first = fetch(url, { ...post, headers: { ...post.headers, 'idempotency-key': 'order-17-payment' } })
  await hasBegun
  return { url, first, open: () => open(), runs: () => runs }
}

/** A contract that answers a retry with the current state asks how to look it up. */
const contract = (profile: Profile) => ({
  profile,
  ...(profile.replay.kind !== 'as_stored' && { currentState: (answer: Answer) => answer }),
})

function client(options: ClientOptions = {}) {
  const attempts: Attempt[] = []
  const clock = skippingClock()
  const onAttempt = (attempt: Attempt) => void attempts.push(attempt)
  return { clock, attempts, send: idempotentFetch({ clock, attemptTimeout, onAttempt, ...options }) }
}

const paid = (id = 'p1') => ({ status: 201, headers: [], body: Buffer.from(JSON.stringify({ id })) })
const codeOf = (error: unknown) => (isClientError(error) ? error.code : error)

describe('on a server that Hapax guards', () => {
  test('a request that still runs is waited for, and its answer comes under the same key', async () => {
    const { url, first, open, runs } = await running()
    const { send, attempts } = client({
      onAttempt: (attempt) => {
        attempts.push(attempt)
        if (attempts.length === 3) open()
      },
    })
    const response = await send(url, post, { key: 'order-17-payment' })
    expect([response.status, await response.json()]).toEqual([201, { id: 'p1' }])
    expect(attempts.slice(0, 3).map(({ verdict }) => verdict)).toEqual(['running', 'running', 'running'])
    expect(attempts[0]?.waitMs).toBeGreaterThanOrEqual(1_000)
    expect([(await first).status, runs()]).toEqual([201, 1])
  })

  test('a duplicate that is only taken note of is asked for again, until there is an answer', async () => {
    const { url, first, open } = await running({ concurrency: 'accept', statusAt: '/status' })
    const { send, attempts } = client({ onAttempt: (attempt) => void (attempts.push(attempt) === 2 && open()) })
    const response = await send(url, post, { key: 'order-17-payment' })
    expect([response.status, await response.json()]).toEqual([201, { id: 'p1' }])
    expect(attempts[0]).toMatchObject({ status: 202, verdict: 'perhaps' })
    await first
  })

  test('an unknown outcome is asked about until the deadline, and the handle goes on once it is settled', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'hapax-client-'))
    const hapax = engine({ store: sqliteStore({ path: join(directory, 'shop.db') }), log: () => {} })
    onTestFinished(() => hapax.close().then(() => rmSync(directory, { recursive: true })))
    let charges = 0
    const operation = hapax.operation('payments.create', { version: 1 }, async (work) => {
      const charge = await work.call('charged', {
        async run(): Promise<{ id: string }> {
          charges++
          throw new Error('timed out')
        },
        lookup: async () => ({ landed: true, result: { id: 'charge-1' } }) as const,
      })
      return { status: 201, body: charge }
    })
    const listener = guard(hapax, { operation, scope: () => 'acme' })
    const url = await listening((request, response) => void listener(request, response))
    const { send, attempts } = client({ deadline: '1h' })
    const error = await send(url, post, { key: 'order-17-payment', deadline: '60s' }).catch((error: unknown) => error)
    if (!isClientError(error, 'outcome_unknown')) return expect.fail(String(error))
    // First it is told when a reconciler looks; then, since none has, that nobody knows when.
    expect(attempts.map(({ waitMs }) => Math.floor((waitMs ?? 0) / 3_000))).toEqual([1, 10, 0])
    expect([error.attempts, error.gaveUp, error.retryAfterMs, charges]).toEqual([3, 'deadline', 30_000, 1])
    expect(await hapax.chores.reconcile(10)).toEqual(['settled'])
    const response = await error.resume?.()
    expect([response?.status, await response?.json(), charges]).toEqual([201, { id: 'charge-1' }, 1])
    expect(new Set(attempts.map(({ key }) => key))).toEqual(new Set(['order-17-payment']))
  })

  test.each<[string, Profile]>(Object.entries(profiles))(
    'a key that came with another payload is a typed error under the profile %s',
    async (_, profile) => {
      const { url } = await shop(async () => paid(), contract(profile))
      expect((await client().send(url, post, { key: 'order-17-payment' })).status).toBe(201)
      const { send, attempts } = client()
      const other = send(url, { ...post, body: '{"cents":9}' }, { key: 'order-17-payment' })
      expect(codeOf(await other.catch((error: unknown) => error))).toBe('key_reused')
      expect(attempts).toHaveLength(1)
    },
  )

  test.each<[string, Profile]>(Object.entries(profiles))(
    'a request that still runs is waited for under the profile %s',
    async (_, profile) => {
      const { url, first, open } = await running(contract(profile))
      const { send } = client({ onAttempt: ({ attempt }) => void (attempt === 4 && open()) })
      expect((await send(url, post, { key: 'order-17-payment' })).status).toBe(201)
      await first
    },
  )

  test('a key that breaks its rules is a typed error, and nothing runs', async () => {
    let runs = 0
    const { url } = await shop(async () => paid(String(++runs)), { keyRules: { maxLength: 10 } })
    expect(
      codeOf(
        await client()
          .send(url, post)
          .catch((error: unknown) => error),
      ),
    ).toBe('key_rejected')
    const noKey = client({ header: 'X-Other' })
    expect(codeOf(await noKey.send(url, post).catch((error: unknown) => error))).toBe('key_rejected')
    expect(runs).toBe(0)
  })

  test('a store that is down is waited out', async () => {
    const faulty = faultyStore(memoryStore())
    let runs = 0
    const { url } = await shop(async () => paid(String(++runs)), {}, faulty.store as ReturnType<typeof memoryStore>)
    faulty.breakAt('reserve', 'before', 4)
    const { send, attempts } = client()
    expect((await send(url, post)).status).toBe(201)
    expect([attempts[0]?.status, attempts[0]?.verdict, runs]).toEqual([503, 'again', 1])
  })

  test('a handler that failed runs again, and a stored failure is given as it is', async () => {
    let runs = 0
    const flaky = await shop(async () => (++runs < 3 ? { status: 500, headers: [], body: Buffer.of() } : paid()))
    expect((await client().send(flaky.url, post)).status).toBe(201)
    expect(runs).toBe(3)
    const failing = async () => ({ status: 500, headers: [], body: Buffer.from('broken') })
    const { url } = await shop(failing, { onError: 'store' })
    const { send, attempts } = client()
    const response = await send(url, post)
    expect([response.status, await response.text(), attempts.length]).toEqual([500, 'broken', 2])
  })

  test('an answer that was too long to be kept is no answer to its retry', async () => {
    const { url } = await shop(async () => paid('x'.repeat(100)), { maxAnswerBytes: 10 })
    expect((await client().send(url, post, { key: 'order-17-payment' })).status).toBe(201)
    const again = client().send(url, post, { key: 'order-17-payment' })
    expect(codeOf(await again.catch((error: unknown) => error))).toBe('answer_withheld')
  })
})

describe('on a network that loses things, one operation has one effect', () => {
  /** Loses by a plan, in front of a server that Hapax guards. */
  async function lossy(plan: readonly ('request' | 'answer' | 'half')[]) {
    const effects: string[] = []
    const { url } = await shop(async (_, { body }) => {
      effects.push(Buffer.from(body).toString())
      return paid('x'.repeat(4_000))
    })
    let count = 0
    const proxied = await listening(async (request, response) => {
      const loss = plan[count++]
      const body = await bodyOf(request)
      if (loss === 'request') return void request.socket.destroy()
      const headers = request.headers as Record<string, string>
      const { 'idempotency-key': key = '', 'content-type': type = '' } = headers
      const answer = await fetch(url, {
        method: 'POST',
        body,
        headers: { 'idempotency-key': key, 'content-type': type },
      })
      if (loss === 'answer') return void request.socket.destroy()
      const bytes = Buffer.from(await answer.arrayBuffer())
      response.writeHead(answer.status, { 'content-length': bytes.length })
      if (loss !== 'half') return void response.end(bytes)
      response.write(bytes.subarray(0, 2_000), () => request.socket.destroy())
    })
    return { effects, proxied, count: () => count }
  }

  test.each([
    ['a request', ['request']],
    ['an answer', ['answer']],
    ['half an answer', ['half']],
    ['everything in turn', ['request', 'half', 'answer', 'request', 'answer', 'half']],
  ] as const)('when %s is lost', async (_, plan) => {
    const { effects, proxied, count } = await lossy(plan)
    const response = await client().send(proxied, post)
    expect(await response.json()).toEqual({ id: 'x'.repeat(4_000) })
    expect([effects, count()]).toEqual([[post.body], plan.length + 1])
  })
})

describe('on a server that behaves badly', () => {
  test('one that never answers is given up after the timeout of an attempt', async () => {
    let count = 0
    const url = await listening((_, response) => void (++count > 1 && response.writeHead(201).end()))
    const send = idempotentFetch({ attemptTimeout: '50ms', backoff: { first: '1ms', max: '1ms' } })
    expect((await send(url, post)).status).toBe(201)
  })

  test('one that stops in the middle of an answer, too', async () => {
    let count = 0
    const url = await listening((_, response) => {
      response.writeHead(201, { 'content-length': '4' })
      return void (++count > 1 ? response.end('paid') : response.write('pa'))
    })
    const send = idempotentFetch({ attemptTimeout: '50ms', backoff: { first: '1ms', max: '1ms' } })
    expect(await (await send(url, post)).text()).toBe('paid')
  })

  test('an answer that never ends is handed on when it is longer than it is waited for', async () => {
    const url = await listening(async (_, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' })
      for (let sent = 0; !response.destroyed && sent < 4_000_000; sent += 65_536) response.write(Buffer.alloc(65_536))
    })
    const response = await idempotentFetch()(url, post)
    const reader = response.body?.getReader()
    expect((await reader?.read())?.value?.byteLength).toBeGreaterThan(0)
    await reader?.cancel()
  })

  test('one that is not there is a typed error with the cause, and the connection of a retry is not left open', async () => {
    const send = idempotentFetch({ attempts: 2, backoff: { first: '1ms', max: '1ms' } })
    const error = await send('http://127.0.0.1:9', post).catch((error: unknown) => error)
    if (!isClientError(error, 'no_answer')) return expect.fail(String(error))
    expect([error.attempts, error.gaveUp, error.cause instanceof Error]).toEqual([2, 'attempts', true])
  })
})
