import { inspect } from 'node:util'
import { ClientError, type ClientOptions, idempotentFetch, isClientError, newKey } from 'hapax/client'
import { describe, expect, test } from 'vitest'
import { uuidOf } from '../../src/client/key.js'
import { systemClock } from '../../src/kernel/clock.js'
import { reply, reset, scriptedFetch } from './support/scripted-fetch.js'
import { bodyOf, listening } from './support/servers.js'
import { attemptTimeout, skippingClock } from './support/skipping-clock.js'

const url = 'https://api.example.com/payments'
const quick: ClientOptions = { backoff: { first: '1ms', max: '1ms' } }

function client(options: ClientOptions = {}) {
  const { fetch, sent } = scriptedFetch(reset(), reply(201))
  return { sent, send: idempotentFetch({ fetch, clock: skippingClock(), attemptTimeout, ...options }) }
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'sent',
    (error: unknown) => (isClientError(error) ? error.code : error),
  )

/** Fails once with a 503, and notes the bytes of every attempt. */
async function flaky() {
  const attempts: { type: string | undefined; body: Buffer; key: string | undefined; path: string | undefined }[] = []
  const at = await listening(async (request, response) => {
    const { headers, url: path } = request
    attempts.push({ type: headers['content-type'], body: await bodyOf(request), key: keyIn(headers), path })
    response.writeHead(attempts.length % 2 === 1 ? 503 : 201).end()
  })
  return { at, attempts }
}

const keyIn = (headers: NodeJS.Dict<string | string[]>) => headers['idempotency-key'] as string | undefined

describe('every attempt has the same bytes', () => {
  const form = new FormData()
  form.append('cents', '1200')
  form.append('slip', new Blob(['paid'], { type: 'text/plain' }), 'slip.txt')
  const bytes = new Uint8Array([1, 2, 3])

  test.each([
    ['a string', '{"cents":1200}', /^text\/plain/],
    ['URLSearchParams', new URLSearchParams({ cents: '1200' }), /^application\/x-www-form-urlencoded/],
    ['bytes', bytes, undefined],
    ['an ArrayBuffer', bytes.buffer, undefined],
    ['a Blob', new Blob(['paid'], { type: 'text/csv' }), /^text\/csv$/],
    ['a form, whose boundary is made once', form, /^multipart\/form-data; boundary=/],
    ['nothing', undefined, undefined],
  ])('of %s', async (_, body, type) => {
    const { at, attempts } = await flaky()
    const response = await idempotentFetch(quick)(at, { method: 'POST', ...(body !== undefined && { body }) })
    expect(response.status).toBe(201)
    const [first, second] = attempts
    expect(second).toEqual(first)
    if (type === undefined) expect(first?.type).toBeUndefined()
    else expect(first?.type).toMatch(type)
    expect(first?.body.byteLength === 0).toBe(body === undefined)
  })

  test('of a Request, with what else it asks for', async () => {
    const { at, attempts } = await flaky()
    const request = new Request(`${at}/a?b=c`, { method: 'PATCH', body: 'x', headers: { 'content-type': 'a/b' } })
    expect((await idempotentFetch(quick)(request)).status).toBe(201)
    expect(attempts[1]).toEqual(attempts[0])
    expect(attempts[0]).toMatchObject({ type: 'a/b', path: '/a?b=c', body: Buffer.from('x') })
  })

  test('of bytes that the caller changes meanwhile', async () => {
    const body = new Uint8Array([1, 2, 3])
    const { send, sent } = client({ onAttempt: () => void body.fill(9) })
    await send(url, { method: 'POST', body })
    expect(sent.map((attempt) => attempt.body)).toEqual(['\x01\x02\x03', '\x01\x02\x03'])
  })
})

test('a stream is refused before anything is sent: it cannot be sent twice', async () => {
  const { send, sent } = client()
  const body = new Blob(['paid']).stream()
  expect(await refusal(send(url, { method: 'POST', body, duplex: 'half' }))).toBe('body_not_replayable')
  expect(sent).toHaveLength(0)
})

describe('a body that does not come', () => {
  /** A request whose body begins and never ends. */
  const endless = () => {
    const body = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) })
    return new Request(url, { method: 'POST', body, duplex: 'half' })
  }

  test('is waited for until the deadline of the call', async () => {
    const { send, sent } = client({ clock: systemClock })
    expect(await refusal(send(endless(), undefined, { deadline: '20ms' }))).toBe('body_not_replayable')
    expect(sent).toHaveLength(0)
  })

  test('is waited for until the caller aborts', async () => {
    const { send, sent } = client()
    const controller = new AbortController()
    const sending = send(endless(), { signal: controller.signal })
    controller.abort('enough')
    await expect(sending).rejects.toBe('enough')
    expect(sent).toHaveLength(0)
  })

  test('counts into the deadline when it came late', async () => {
    const clock = skippingClock()
    const body = new ReadableStream({
      pull(controller) {
        clock.pass(59_999)
        controller.close()
      },
    })
    const { send, sent } = client({ clock })
    const request = new Request(url, { method: 'POST', body, duplex: 'half' })
    const error = await send(request).catch((error: unknown) => error)
    expect(isClientError(error, 'no_answer') && error.gaveUp).toBe('deadline')
    expect(sent).toHaveLength(1)
  })
})

test('POST, PUT, PATCH and DELETE have a key; GET, HEAD and OPTIONS have none', async () => {
  const { send, sent } = client({ attempts: 1 })
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'GET', 'HEAD', 'OPTIONS']) {
    sent.length = 1
    await send(url, { method })
    expect([method, sent[1]?.key === null]).toEqual([method, /^(GET|HEAD|OPTIONS)$/.test(method)])
  }
})

describe('a key', () => {
  test("of the caller's own header is sent as it is", async () => {
    const { send, sent } = client()
    const key = newKey()
    await send(url, { method: 'POST', headers: { 'Idempotency-Key': `"${key}"` } })
    expect(sent.map((attempt) => attempt.key)).toEqual([`"${key}"`, `"${key}"`])
  })

  test('of the call is sent in the spelling of the client, under its header', async () => {
    const { send, sent } = client({ header: 'X-Request-Id', spelling: 'quoted' })
    await send(url, { method: 'POST' }, { key: 'order-17-payment' })
    expect(sent[1]?.headers.get('x-request-id')).toBe('"order-17-payment"')
  })

  test('that differs between header and call is refused', async () => {
    const { send, sent } = client()
    const init = { method: 'POST', headers: { 'idempotency-key': 'order-17-payment' } }
    expect(await refusal(send(url, init, { key: 'order-18-payment' }))).toBe('options_invalid')
    expect(sent).toHaveLength(0)
  })

  test.each(['ana@example.com', 'pay-for-ana@example.com', '+49 151 23456789', '4242 4242 4242 4242', '078-05-1120'])(
    'that looks like personal data is refused, and not repeated: %s',
    async (key) => {
      const { send, sent } = client()
      const error = await send(url, { method: 'POST' }, { key }).catch((error: unknown) => error)
      expect(isClientError(error, 'key_refused')).toBe(true)
      expect(inspect(error)).not.toContain(key)
      expect(sent).toHaveLength(0)
    },
  )

  test('that looks like personal data is sent where the client is told so', async () => {
    const { send, sent } = client({ personalKeys: 'allow' })
    await send(url, { method: 'POST' }, { key: 'ana@example.com' })
    expect(sent[1]?.key).toBe('ana@example.com')
  })

  test.each(['', 'a b', 'a,b', 'ключ', 'a\u0000b', 'x'.repeat(256), '""'])(
    'that no server can read is refused: %j',
    async (key) => {
      const { send, sent } = client()
      expect(await refusal(send(url, { method: 'POST' }, { key }))).toBe('key_refused')
      expect(sent).toHaveLength(0)
    },
  )

  test('that was chosen for one request is refused for another, and taken for the same', async () => {
    const { send, sent } = client()
    const call = { key: 'order-17-payment' }
    await send(url, { method: 'POST', body: 'a' }, call)
    await send(url, { method: 'POST', body: 'a' }, call)
    const before = sent.length
    expect(await refusal(send(url, { method: 'POST', body: 'b' }, call))).toBe('key_reused')
    expect(await refusal(send(`${url}/17`, { method: 'POST', body: 'a' }, call))).toBe('key_reused')
    expect(sent).toHaveLength(before)
  })

  test('is a random UUID of version 4, also where a page has no TLS', () => {
    const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    expect(newKey()).toMatch(v4)
    expect(uuidOf(crypto.getRandomValues(new Uint8Array(16)))).toMatch(v4)
    expect(uuidOf(new Uint8Array(16).fill(255))).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff')
  })

  test('stands in no log of an error, and can be asked for', () => {
    const error = new ClientError('no_answer', undefined, { key: 'order-17-payment' })
    expect(error.key).toBe('order-17-payment')
    expect(inspect(error) + JSON.stringify(error)).not.toContain('order-17')
  })

  test('that a browser would drop under no-cors is not trusted to it', async () => {
    const { send } = client()
    expect(await refusal(send(url, { method: 'POST', mode: 'no-cors' }))).toBe('options_invalid')
  })
})

test.each<[told: string, options: unknown]>([
  ['attempts is 0; give 1 or more.', { attempts: 0 }],
  ['attempts is NaN; give 1 or more.', { attempts: Number.NaN }],
  ['deadline is "0s"; write it like \'30s\'.', { deadline: '0s' }],
  ['attemptTimeout is "soon"; write it like \'30s\'.', { attemptTimeout: 'soon' }],
  ['budget.most is NaN; give 0 or more.', { budget: { most: Number.NaN, share: 0.1 } }],
  ['budget.most is -1; give 0 or more.', { budget: { most: -1, share: 0.1 } }],
  ['budget.share is NaN; give 0 or more.', { budget: { most: 5, share: Number.NaN } }],
  ['backoff.max in ms is 1000; give 2000 or more.', { backoff: { first: '2s', max: '1s' } }],
  ["retry has 500: 'sometimes'; write it like 503: 'again'.", { retry: { 500: 'sometimes' } }],
  ["retry has 50x: 'again'; write it like 503: 'again'.", { retry: { '50x': 'again' } }],
])('options that cannot be meant are refused at once: %s', (message, options) => {
  const refused = expect.objectContaining({ code: 'options_invalid', message })
  expect(() => idempotentFetch(options as ClientOptions)).toThrow(refused)
})

test('a redirect that keeps the method keeps key and bytes', async () => {
  const seen: unknown[] = []
  const at = await listening(async (request, response) => {
    const { url: path, method, headers } = request
    seen.push([path, method, keyIn(headers), (await bodyOf(request)).toString()])
    if (path === '/old') return void response.writeHead(307, { location: '/new' }).end()
    response.writeHead(seen.length < 3 ? 503 : 201).end()
  })
  const response = await idempotentFetch(quick)(`${at}/old`, { method: 'POST', body: 'x' }, { key: 'order-17-payment' })
  expect([response.status, response.redirected]).toEqual([201, true])
  expect(seen).toEqual(['/old', '/new', '/old', '/new'].map((path) => [path, 'POST', 'order-17-payment', 'x']))
})
