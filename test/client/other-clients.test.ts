import axios from 'axios'
import { idempotentFetch, isClientError, newKey } from 'hapax/client'
import ky from 'ky'
import { describe, expect, test } from 'vitest'
import { bodyOf, listening } from './support/servers.js'

/** Below axios and ky, as the guide says it: over real connections, the first of which is lost. */

const send = idempotentFetch({ backoff: { first: '1ms', max: '1ms' } })

const retried = { limit: 3, methods: ['post'], statusCodes: [503], delay: () => 1 }

const clients: Record<string, (url: string, form: FormData) => Promise<unknown>> = {
  'axios, with our fetch': async (url, form) =>
    (await axios.create({ adapter: 'fetch', env: { fetch: send } }).post(url, form)).data,
  'ky, with our fetch': (url, form) =>
    ky.create({ fetch: send, retry: 0, timeout: false }).post(url, { body: form }).json(),
}

const hooked: Record<string, (url: string) => Promise<unknown>> = {
  'ky, with a hook and its own retries': (url) =>
    ky
      .create({
        retry: retried,
        hooks: {
          beforeRequest: [
            (request) => {
              if (!request.headers.has('idempotency-key')) request.headers.set('idempotency-key', newKey())
            },
          ],
        },
      })
      .post(url, { json: { cents: 1200 } })
      .json(),
  'axios, with interceptors': async (url) => (await hookedAxios().post(url, { cents: 1200 })).data,
}

/** As the guide has it, but for the length of the pauses. */
function hookedAxios() {
  const payments = axios.create()
  payments.interceptors.request.use((config) => {
    if (!config.headers.has('Idempotency-Key')) config.headers.set('Idempotency-Key', newKey())
    return config
  })
  const passing = /^(408|425|429|5(?!01|05)\d\d)$/
  payments.interceptors.response.use(undefined, async (error) => {
    if (!axios.isAxiosError(error) || axios.isCancel(error) || error.config === undefined) throw error
    const config: typeof error.config & { sent?: number } = error.config
    const { sent = 1 } = config
    if (sent === 5 || (error.response && !passing.test(String(error.response.status)))) throw error
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2 ** sent))
    config.sent = sent + 1
    return payments(config)
  })
  return payments
}

async function flaky() {
  const seen: { key: unknown; type: unknown; body: string }[] = []
  const url = await listening(async (request, response) => {
    const { headers } = request
    seen.push({
      key: headers['idempotency-key'],
      type: headers['content-type'],
      body: (await bodyOf(request)).toString(),
    })
    if (seen.length === 1) return void request.socket.destroy()
    if (seen.length === 2) return void response.writeHead(503).end()
    response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":"p1"}')
  })
  return { url, seen }
}

describe('one operation has one key and one body', () => {
  test.each(Object.entries(clients))('in %s, a form too', async (_, pay) => {
    const { url, seen } = await flaky()
    const form = new FormData()
    form.append('cents', '1200')
    expect(await pay(url, form)).toEqual({ id: 'p1' })
    expect(seen).toHaveLength(3)
    expect(new Set(seen.map((attempt) => JSON.stringify(attempt))).size).toBe(1)
    expect(seen[0]?.body).toContain('1200')
  })

  test.each(Object.entries(hooked))('in %s', async (_, pay) => {
    const { url, seen } = await flaky()
    expect(await pay(url)).toEqual({ id: 'p1' })
    expect(seen).toHaveLength(3)
    expect(new Set(seen.map((attempt) => JSON.stringify(attempt))).size).toBe(1)
    expect(seen[0]?.key).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('the interceptors of the guide', () => {
  /** Answers the same for longer than anybody should ask. */
  async function always(status: number) {
    let count = 0
    const url = await listening((_, response) => void response.writeHead(++count < 20 ? status : 201).end())
    return { url, count: () => count }
  }
  const rejection = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)

  test.each([400, 409, 422, 501, 505])('hand on what will not change: a %i is sent once', async (status) => {
    const { url, count } = await always(status)
    const error = await rejection(hookedAxios().post(url, { cents: 1200 }))
    expect([axios.isAxiosError(error) && error.response?.status, count()]).toEqual([status, 1])
  })

  test.each([408, 429, 500, 503])('end: a %i that stays is sent five times', async (status) => {
    const { url, count } = await always(status)
    const error = await rejection(hookedAxios().post(url, { cents: 1200 }))
    expect([axios.isAxiosError(error) && error.response?.status, count()]).toEqual([status, 5])
  })

  test('throw on what is no error of axios, and what the caller gave up', async () => {
    const { url, count } = await always(503)
    const payments = hookedAxios()
    const bug = new Error('a bug in an interceptor')
    const broken = payments.interceptors.request.use(() => Promise.reject(bug))
    expect(await rejection(payments.post(url))).toBe(bug)
    payments.interceptors.request.eject(broken)
    expect(axios.isCancel(await rejection(payments.post(url, {}, { signal: AbortSignal.abort() })))).toBe(true)
    expect(count()).toBe(0)
  })
})

test('a typed error comes through ky as it is, and as the cause of what axios throws', async () => {
  const refused: typeof fetch = async () => Response.json({ code: 'idempotency_key_malformed' }, { status: 400 })
  const refusing = idempotentFetch({ fetch: refused })
  const url = 'https://api.example.com/payments'
  const fromKy = await ky
    .create({ fetch: refusing, retry: 0 })
    .post(url)
    .catch((error: unknown) => error)
  expect(isClientError(fromKy, 'key_rejected')).toBe(true)
  const fromAxios = await axios
    .create({ adapter: 'fetch', env: { fetch: refusing } })
    .post(url)
    .catch((error: unknown) => error)
  expect([isClientError(fromAxios), isClientError((fromAxios as Error).cause, 'key_rejected')]).toEqual([false, true])
})
