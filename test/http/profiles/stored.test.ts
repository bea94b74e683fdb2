import { HapaxError, profiles } from 'hapax'
import { describe, expect, test } from 'vitest'
import { api, json, key } from './api.js'

const fails = (runs: number) => json(500, { failure: runs })

/** What an interrupted handler leaves behind is told by how it ends the second time. */
const thrownThenPaid = (thrown: unknown) => (runs: number) => {
  if (runs === 1) throw thrown
  return json(201, { id: runs })
}

describe('a 500 that the handler returned', () => {
  test.each(['stripe', 'finastra'] as const)('%s keeps and replays it byte for byte', async (name) => {
    const { post, runs, record } = await api(name, {}, fails)
    const first = await post()
    expect(first.headers.get('Idempotent-Replayed')).toBeNull()
    expect(await record(key)).toMatchObject({ state: 'completed', answer: { status: 500 } })
    const again = await post()
    expect(again).toMatchObject({ status: 500, text: first.text })
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect(runs()).toBe(1)
  })

  test.each(['ietf', 'marketplace', 'brandur'] as const)('%s lets it be tried again', async (name) => {
    const { post, runs } = await api(name, {}, (runs) => (runs === 1 ? fails(runs) : json(201, { id: runs })))
    expect((await post()).status).toBe(500)
    expect((await post()).status).toBe(201)
    expect((await post()).text).toBe('{"id":2}')
    expect(runs()).toBe(2)
  })
})

describe('a handler that threw', () => {
  test('finastra keeps it as a 500 that tells nothing of the inside', async () => {
    const { post, runs } = await api('finastra', {}, thrownThenPaid(new Error('secret of the handler')))
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

  test.each([
    ['an error', new Error('interrupted')],
    ['an error that looks like an answer', Object.assign(new Error(), json(500, {}))],
    ['a response of the Fetch API', new Response('no', { status: 500 })],
    ['nothing at all', undefined],
  ])('stripe has no answer yet, and a retry goes on: %s', async (_, thrown) => {
    const { post, runs, record } = await api('stripe', {}, thrownThenPaid(thrown))
    expect(await post()).toMatchObject({ status: 500, text: 'the application failed' })
    expect(await record(key)).toMatchObject({ state: 'failed_retryable' })
    expect(await post()).toMatchObject({ status: 201, text: '{"id":2}' })
    expect((await post()).headers.get('Idempotent-Replayed')).toBe('true')
    expect(runs()).toBe(2)
  })

  test.each(['ietf', 'marketplace', 'brandur'] as const)('%s lets it be tried again', async (name) => {
    const { post, runs } = await api(name, {}, thrownThenPaid(new Error('interrupted')))
    expect((await post()).status).toBe(500)
    expect(await post()).toMatchObject({ status: 201, text: '{"id":2}' })
    expect(runs()).toBe(2)
  })

  test.each(['stripe', 'finastra'] as const)('%s keeps no error of ours that asks to be tried again', async (name) => {
    const { post, runs, record } = await api(name, {}, thrownThenPaid(new HapaxError('transaction_timeout')))
    expect((await post()).status).toBe(500)
    expect(await record(key)).toMatchObject({ state: 'failed_retryable' })
    expect(await post()).toMatchObject({ status: 201, text: '{"id":2}' })
    expect(runs()).toBe(2)
  })
})

describe('under boundary a failure that nobody explained is a doubt', () => {
  test.each([
    ['returned', fails],
    [
      'thrown',
      () => {
        throw new Error('the gateway timed out')
      },
    ],
  ])('%s: the first caller gets a 503, as does every retry, and nothing runs again', async (_, handler) => {
    const { post, runs, record } = await api('boundary', {}, handler)
    for (let time = 0; time < 3; time++) {
      const got = await post()
      expect(got).toMatchObject({ status: 503, text: '{"code":"outcome_unknown"}' })
      expect(Number(got.headers.get('Retry-After'))).toBeGreaterThan(0)
      expect(await record(key)).toMatchObject({ state: 'unknown' })
    }
    expect(runs()).toBe(1)
  })

  test('unless the route can prove that nothing was executed', async () => {
    const refused = Object.assign(new Error(), { code: 'ECONNREFUSED' })
    const onError = (failure: unknown) => (failure === refused ? 'release' : 'unknown')
    const { post, record } = await api('boundary', { onError }, thrownThenPaid(refused))
    expect((await post()).status).toBe(500)
    expect(await record(key)).toBeUndefined()
    expect((await post()).status).toBe(201)
  })
})

describe('in every profile', () => {
  const names = Object.keys(profiles) as (keyof typeof profiles)[]

  test.each(names)('%s keeps a refusal of the handler and replays it', async (name) => {
    const { post, runs } = await api(name, {}, (runs) => json(402, { declined: runs }))
    const first = await post()
    expect(await post()).toMatchObject({ status: 402, text: first.text })
    expect(runs()).toBe(1)
  })

  test.each(names)('%s keeps no answer that asks the client to come back', async (name) => {
    for (const status of [408, 425, 429]) {
      const { post, record } = await api(name, {}, () => json(status, {}))
      expect((await post()).status).toBe(status)
      expect(await record(key)).toMatchObject({ state: 'failed_retryable' })
    }
  })
})
