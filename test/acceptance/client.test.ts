import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { contractOf, engine, keyFormats } from 'hapax'
import { type Attempt, type ClientOptions, idempotentFetch, isClientError, newKey } from 'hapax/client'
import { contractOptions } from 'hapax/client/contract'
import { memoryStore } from 'hapax/memory'
import { guard, type NodeOptions } from 'hapax/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { problem, reply, reset, scriptedFetch } from '../client/support/scripted-fetch.js'
import { bodyOf, listening } from '../client/support/servers.js'
import { attemptTimeout, skippingClock } from '../client/support/skipping-clock.js'

/** What a client has to do, shown with ours: over real connections where the row speaks of them. */

const url = 'https://api.example.com/payments'
const post = { method: 'POST', body: '{"cents":1200}' }
const quick: ClientOptions = { backoff: { first: '1ms', max: '1ms' } }

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'sent',
    (error: unknown) => (isClientError(error) ? error.code : error),
  )

/** Drops the connection of every request that the plan says, after it was read. */
async function dropping(drops: (count: number) => boolean) {
  const keys: (string | undefined)[] = []
  const bodies: string[] = []
  const at = await listening(async (request, response) => {
    keys.push(request.headers['idempotency-key'] as string | undefined)
    bodies.push((await bodyOf(request)).toString())
    return void (drops(keys.length) ? request.socket.destroy() : response.writeHead(201).end())
  })
  return { at, keys, bodies }
}

const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('a key', () => {
  test('is one for each operation, on every attempt, and another for the next [S0-06 C-05]', async () => {
    const { at, keys } = await dropping((count) => count === 1 || count === 2)
    const send = idempotentFetch(quick)
    await send(at, post)
    await send(at, post)
    expect(keys).toHaveLength(4)
    expect(new Set(keys.slice(0, 3)).size).toBe(1)
    expect(new Set(keys).size).toBe(2)
  })

  test('is the same after the connection was dropped, with the same bytes [S0-08]', async () => {
    const { at, keys, bodies } = await dropping((count) => count === 1)
    expect((await idempotentFetch(quick)(at, post)).status).toBe(201)
    expect([keys[0], bodies]).toEqual([keys[1], [post.body, post.body]])
  })

  test('is made by the client, a random UUID, for POST and PATCH alike [S1-014 S3-01 S4-05]', async () => {
    const { at, keys } = await dropping(() => false)
    const send = idempotentFetch(quick)
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) await send(at, { method })
    await send(at)
    expect(keys.slice(0, 4).every((key) => v4.test(key ?? ''))).toBe(true)
    expect(keys[4]).toBeUndefined()
  })

  test('is there before the first byte is written to a socket [S4-62]', async () => {
    const order: string[] = []
    const at = await listening((_, response) => {
      order.push('received')
      response.writeHead(201).end()
    })
    const makeKey = () => {
      order.push('made')
      return randomUUID()
    }
    const sending: typeof fetch = (input, init) => {
      order.push('sent')
      return fetch(input, init)
    }
    await idempotentFetch({ makeKey, fetch: sending })(at, post)
    expect(order).toEqual(['made', 'sent', 'received'])
  })

  test('of a hundred thousand is the same as no other, and has 122 random bits [S0-26]', () => {
    const keys = Array.from({ length: 100_000 }, newKey)
    expect(new Set(keys).size).toBe(100_000)
    const ones = new Array(128).fill(0)
    for (const key of keys.slice(0, 4_000)) {
      const bits = [...key.replaceAll('-', '')].flatMap((digit) => [
        ...Number.parseInt(digit, 16).toString(2).padStart(4, '0'),
      ])
      for (const [index, bit] of bits.entries()) ones[index] += Number(bit)
    }
    const random = ones.filter((count) => count > 1_600 && count < 2_400)
    expect(random).toHaveLength(122)
  })

  test('is never used for another payload, whatever a caller does with it [C-01]', async () => {
    const uses = fc.array(
      fc.record({ key: fc.constantFrom('order-17-payment', 'order-18-payment'), body: fc.constantFrom('a', 'b') }),
    )
    await fc.assert(
      fc.asyncProperty(uses, async (calls) => {
        const { fetch, sent } = scriptedFetch(reply(201))
        const send = idempotentFetch({ fetch })
        for (const { key, body } of calls) await codeOf(send(url, { method: 'POST', body }, { key }))
        const byKey = new Map<string, Set<string>>()
        for (const { key, body } of sent) byKey.set(key ?? '', (byKey.get(key ?? '') ?? new Set()).add(body))
        expect([...byKey.values()].every((set) => set.size === 1)).toBe(true)
      }),
    )
  })

  test('that was chosen is refused here for a body that has changed, before it is sent [S0-13]', async () => {
    const { at, bodies } = await dropping(() => false)
    const send = idempotentFetch()
    await send(at, post, { key: 'order-17-payment' })
    expect(await codeOf(send(at, { ...post, body: '{"cents":9}' }, { key: 'order-17-payment' }))).toBe('key_reused')
    expect(bodies).toEqual([post.body])
  })

  test('that looks like an e-mail address, a phone or a card is not sent, and not shown [S2-009 S3-59 X-12]', async () => {
    const { at, keys } = await dropping(() => false)
    const send = idempotentFetch()
    for (const key of ['ana@example.com', '+4915123456789', '4242424242424242']) {
      const error = await send(at, post, { key }).catch((error: unknown) => error)
      expect(isClientError(error, 'key_refused')).toBe(true)
      expect(inspect(error)).not.toContain(key)
    }
    expect(keys).toEqual([])
  })

  test('follows the rule of the resource, which the caller brings [C-02]', async () => {
    const { at, keys } = await dropping((count) => count === 1)
    await idempotentFetch({ ...quick, makeKey: () => '2026-11-16/batch-7/row-3' })(at, post)
    expect(keys).toEqual(['2026-11-16/batch-7/row-3', '2026-11-16/batch-7/row-3'])
  })
})

describe('what a server publishes', () => {
  async function published(options: Partial<NodeOptions>) {
    const hapax = engine({ store: memoryStore(), log: () => {} })
    onTestFinished(() => hapax.close())
    const pay = guard(hapax, { name: 'payments.create', scope: () => 'acme', ...options }, async () => {
      return { status: 201, headers: [], body: Buffer.of() }
    })
    return { at: await listening((request, response) => void pay(request, response)), contract: contractOf(hapax) }
  }

  test('is how the client sends its keys, and keys that would not pass are found at start [C-03]', async () => {
    const { at, contract } = await published({ keyRules: { syntax: 'string', format: keyFormats.uuid } })
    const options = contractOptions(contract, 'payments.create', newKey)
    expect(options).toMatchObject({ header: 'Idempotency-Key', spelling: 'quoted' })
    expect(await codeOf(idempotentFetch()(at, post))).toBe('key_rejected')
    expect((await idempotentFetch(options)(at, post)).status).toBe(201)
    const short = () => contractOptions(contract, 'payments.create', () => 'order-17')
    expect(short).toThrow(expect.objectContaining({ code: 'options_invalid' }))
    const varied = await published({ keyRules: { minVariety: 8 } })
    const even = () => contractOptions(varied.contract, 'payments.create', () => 'k'.repeat(36))
    expect(even).toThrow(expect.objectContaining({ code: 'options_invalid' }))
    expect(contractOptions(varied.contract, 'payments.create', newKey).spelling).toBe('raw')
  })

  test('decides, so a client sends a key to any server, and its guide says that it cannot know more [C-04]', async () => {
    const { at, keys } = await dropping(() => false)
    expect((await idempotentFetch()(at, post)).status).toBe(201)
    expect(keys[0]).toMatch(v4)
    const guide = readFileSync(new URL('../../docs/guides/client.md', import.meta.url), 'utf8')
    expect(guide).toContain('a server that ignores the key runs a retry again')
  })
})

describe('a retry', () => {
  test('follows a 503 and a reset connection, and neither 400 nor 422 [S0-27]', async () => {
    const plan = [503, 'reset', 201, 400, 422] as const
    let count = 0
    const at = await listening((request, response) => {
      const next = plan[count++]
      return void (next === 'reset' ? request.socket.resetAndDestroy() : response.writeHead(next ?? 500).end())
    })
    const send = idempotentFetch(quick)
    const statuses = [await send(at, post), await send(at, post), await send(at, post)].map(({ status }) => status)
    expect([statuses, count]).toEqual([[201, 400, 422], 5])
  })

  test('follows a conflict with the same key and body; 400 and 422 want another request [C-06]', async () => {
    const { fetch, sent } = scriptedFetch(
      problem(409, 'idempotency_key_in_progress'),
      reply(201),
      reply(400),
      reply(422),
    )
    const send = idempotentFetch({ fetch, clock: skippingClock(), attemptTimeout })
    expect((await send(url, post)).status).toBe(201)
    expect([sent[0]?.key, sent[0]?.body]).toEqual([sent[1]?.key, sent[1]?.body])
    expect([(await send(url, post)).status, (await send(url, post)).status, sent.length]).toEqual([400, 422, 4])
  })

  test('follows what the table says, and an API may say otherwise [C-07]', async () => {
    const retried = async (status: number, options: ClientOptions = {}) => {
      const { fetch, sent } = scriptedFetch(reply(status), reply(201))
      await idempotentFetch({ fetch, clock: skippingClock(), attemptTimeout, ...options })(url, post)
      return sent.length === 2
    }
    const found = await Promise.all([401, 403, 404, 429, 500, 502, 503, 504].map((status) => retried(status)))
    expect(found).toEqual([false, false, false, true, true, true, true, true])
    expect(await retried(403, { retry: { 403: 'again' } })).toBe(true)
    expect(await retried(500, { retry: { '5xx': 'answer' } })).toBe(false)
  })

  test('comes after one second, then two, with one key; three are the most [S4-63]', async () => {
    const { fetch, sent } = scriptedFetch(reset())
    const clock = skippingClock()
    const attempts: Attempt[] = []
    const send = idempotentFetch({
      ...{ fetch, clock, attemptTimeout, attempts: 3, backoff: { first: '1s', max: '10s' } },
      // Without jitter: always the whole of it.
      chance: { fraction: () => 1, id: newKey },
      onAttempt: (attempt) => void attempts.push(attempt),
    })
    expect(await codeOf(send(url, post))).toBe('no_answer')
    expect(clock.pauses).toEqual([1_000, 2_000])
    expect(new Set(sent.map(({ key }) => key)).size).toBe(1)
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
  })
})
