import { describe, expect, test } from 'vitest'
import { api, busyApi, type Got, key, type Name, names } from './api.js'

const plain = 'application/json'
const problem = 'application/problem+json'

/** What each contract says to a client. The bodies of the seeds are whole texts; of a problem, what a client goes by. */
interface Said {
  readonly status: number
  readonly mediaType: string
  readonly body: string | object
}
type Refusal = 'missing' | 'malformed' | 'reused' | 'inProgress' | 'unavailable'

const reusedCode = 'idempotency_key_reused_with_different_payload'
const lost = 'Send the same request with the same key again: it is safe to retry.'
const tooLong = 'The key has 256 characters; 1 to 255 are allowed.'
const noKey = 'Send a key: a UUID made once per operation, before the first attempt.'

const said: Record<Name, Record<Refusal, Said>> = {
  ietf: problems(),
  finastra: problems(),
  brandur: problems(),
  stripe: {
    missing: stripe(400, { type: 'invalid_request_error', code: 'idempotency_key_missing', message: noKey }),
    malformed: stripe(400, { type: 'invalid_request_error', code: 'idempotency_key_malformed', message: tooLong }),
    reused: stripe(400, {
      type: 'idempotency_error',
      message:
        'Keys for idempotent requests can only be used with the same parameters they were first used with. Try using another key if you meant to execute a different request.',
    }),
    inProgress: stripe(409, {
      type: 'invalid_request_error',
      code: 'idempotency_key_in_use',
      message:
        'There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through). Please try again later.',
    }),
    unavailable: stripe(503, { type: 'api_error', code: 'idempotency_store_unavailable', message: lost }),
  },
  marketplace: {
    missing: marketplace(400, 'IDEMPOTENCY_KEY_MISSING', noKey),
    malformed: marketplace(400, 'IDEMPOTENCY_KEY_MALFORMED', tooLong),
    reused: marketplace(409, 'IDEMPOTENCY_KEY_REUSED', 'This idempotency key was used with a different request body'),
    inProgress: marketplace(409, 'IDEMPOTENCY_KEY_IN_PROGRESS', 'A request with this key is still being processed'),
    unavailable: marketplace(503, 'IDEMPOTENCY_STORE_UNAVAILABLE', lost),
  },
  boundary: {
    missing: boundary(400, 'idempotency_key_missing'),
    malformed: boundary(400, 'idempotency_key_malformed'),
    reused: boundary(422, reusedCode),
    inProgress: boundary(409, 'idempotency_key_in_progress'),
    unavailable: boundary(503, 'idempotency_store_unavailable'),
  },
}

function problems(): Record<Refusal, Said> {
  const of = (status: number, code: string): Said => ({ status, mediaType: problem, body: { status, code } })
  return {
    missing: of(400, 'idempotency_key_missing'),
    malformed: of(400, 'idempotency_key_malformed'),
    reused: of(422, reusedCode),
    inProgress: of(409, 'idempotency_key_in_progress'),
    unavailable: of(503, 'idempotency_store_unavailable'),
  }
}

function stripe(status: number, error: object): Said {
  return { status, mediaType: plain, body: JSON.stringify({ error }) }
}

function marketplace(status: number, code: string, message: string): Said {
  return { status, mediaType: plain, body: `{"error":{"code":"${code}","message":"${message}"}}` }
}

function boundary(status: number, code: string): Said {
  return { status, mediaType: plain, body: `{"code":"${code}"}` }
}

function expectSaid(got: Got, { status, mediaType, body }: Said): void {
  expect(got.status).toBe(status)
  expect(got.headers.get('Content-Type')).toBe(mediaType)
  expect(got.headers.get('Cache-Control')).toBe('no-store')
  expect(got.headers.get('Idempotent-Replayed')).toBeNull()
  if (typeof body === 'string') expect(got.text).toBe(body)
  else expect(JSON.parse(got.text)).toMatchObject(body)
  expect(got.text).not.toContain(key)
}

describe.each(names)('in the profile %s', (name) => {
  test('a request without a key is told so, and nothing runs', async () => {
    const { post, runs } = await api(name)
    expectSaid(await post({}), said[name].missing)
    expect(runs()).toBe(0)
  })

  test('a key that is too long is told so, and nothing runs', async () => {
    const { post, runs } = await api(name)
    expectSaid(await post({ 'Idempotency-Key': 'k'.repeat(256) }), said[name].malformed)
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

  test('a replay is marked, the first answer is not, and both tell when the key ends', async () => {
    const { post } = await api(name)
    const [first, again] = [await post(), await post()]
    expect([first, again].map(({ headers }) => headers.get('Idempotent-Replayed'))).toEqual([null, 'true'])
    expect(again.headers.get('Idempotency-Key-Expires')).toBe(first.headers.get('Idempotency-Key-Expires'))
    expect(again.headers.get('Cache-Control')).toBe('no-store')
  })
})

describe('stripe tells its client libraries whether to retry', () => {
  const shouldRetry = ({ headers }: Got) => headers.get('Stripe-Should-Retry')

  test('a key in progress: yes; a reused key: no; an answer that is stored: no', async () => {
    const { post, letGo } = await busyApi('stripe')
    expect(shouldRetry(await post())).toBe('true')
    expect(shouldRetry(await post(undefined, { cents: 200 }))).toBe('false')
    expect(shouldRetry(await letGo())).toBeNull()
    expect(shouldRetry(await post())).toBe('false')
  })
})
