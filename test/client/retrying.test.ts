import { type Attempt, type ClientOptions, idempotentFetch, isClientError } from 'hapax/client'
import { describe, expect, test } from 'vitest'
import { problem, reply, reset, type Step, scriptedFetch } from './support/scripted-fetch.js'
import { attemptTimeout, skippingClock } from './support/skipping-clock.js'

const url = 'https://api.example.com/payments'
const post = { method: 'POST', body: '{"cents":1200}' }

/** A client on a clock that skips pauses, whose jitter is the middle of its range. */
function client(steps: readonly Step[], options: ClientOptions = {}) {
  const clock = skippingClock()
  const { fetch, sent } = scriptedFetch(...steps)
  const attempts: Attempt[] = []
  const chance = { fraction: () => 0.5, id: () => crypto.randomUUID() }
  const onAttempt = (attempt: Attempt) => void attempts.push(attempt)
  const send = idempotentFetch({ fetch, clock, chance, attemptTimeout, onAttempt, ...options })
  return { send, sent, clock, attempts }
}

const keysOf = (sent: readonly { key: string | null }[]) => new Set(sent.map(({ key }) => key))
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it should have failed'),
    (error: unknown) => (isClientError(error) ? error : expect.fail(String(error))),
  )

describe('one operation has one key', () => {
  test('on every attempt, whatever went wrong in between', async () => {
    const { send, sent } = client([reset(), reply(503), problem(409, 'idempotency_key_in_progress'), reply(201)])
    expect((await send(url, post)).status).toBe(201)
    expect(sent).toHaveLength(4)
    expect(keysOf(sent).size).toBe(1)
    expect(new Set(sent.map(({ body }) => body))).toEqual(new Set([post.body]))
  })

  test('and two operations have two', async () => {
    const { send, sent } = client([reply(201)])
    await send(url, post)
    await send(url, post)
    expect(keysOf(sent).size).toBe(2)
  })

  test('that has been made before anything is sent', async () => {
    const made: number[] = []
    const { send, sent } = client([reset(), reply(201)], {
      makeKey: () => {
        made.push(sent.length)
        return 'f00d-cafe-1234-5678'
      },
    })
    await send(url, post)
    expect(made).toEqual([0])
    expect(sent.map(({ key }) => key)).toEqual(['f00d-cafe-1234-5678', 'f00d-cafe-1234-5678'])
  })
})

describe('the table', () => {
  const retried = [408, 425, 429, 500, 502, 503, 504, 520]
  test.each(retried)('a %i is sent again', async (status) => {
    const { send, sent } = client([reply(status), reply(201)])
    expect((await send(url, post)).status).toBe(201)
    expect(sent).toHaveLength(2)
  })

  test.each([200, 201, 204, 303, 400, 401, 402, 403, 404, 410, 413, 422, 501, 505])(
    'a %i is the answer',
    async (status) => {
      const { send, sent } = client([reply(status), reply(200)])
      expect((await send(url, post)).status).toBe(status)
      expect(sent).toHaveLength(1)
    },
  )

  test('a conflict that gives no reason is the answer when it stays', async () => {
    const { send, sent } = client([reply(409, {}, { error: 'the seat is taken' })])
    const response = await send(url, post)
    expect(response.status).toBe(409)
    expect(await response.json()).toEqual({ error: 'the seat is taken' })
    expect(sent).toHaveLength(3)
  })

  test('a conflict that gives no reason is the answer only when it has stayed itself, whatever came before it', async () => {
    const { send, sent } = client([reset(), reset(), reply(409), reply(409), reply(201)])
    expect((await send(url, post)).status).toBe(201)
    expect(sent).toHaveLength(5)
  })

  test.each([
    ['a problem', { code: 'seat_taken', title: 'The seat is taken.' }],
    ['an object', { error: { code: 'INSUFFICIENT_FUNDS', message: 'The balance is too small.' } }],
  ])('a conflict that gives its reason by a code is the answer at once: %s', async (_, body) => {
    const { send, sent } = client([reply(409, {}, body)])
    const response = await send(url, post)
    expect([response.status, await response.json(), sent.length]).toEqual([409, body, 1])
  })

  test('a conflict that gives its reason and says when to come back is asked about again', async () => {
    const busy = reply(409, { 'retry-after': '1' }, { error: { code: 'ORDER_BUSY' } })
    const { send, sent } = client([...Array(5).fill(busy), reply(201)])
    expect((await send(url, post)).status).toBe(201)
    expect(sent).toHaveLength(6)
  })

  test.each([17, '', null])('a conflict whose code is no word gives no reason: %j', async (code) => {
    const { send, sent } = client([reply(409, {}, { code }), reply(201)])
    expect((await send(url, post)).status).toBe(201)
    expect(sent).toHaveLength(2)
  })

  test('a code counts beside an error that is null', async () => {
    const { send } = client([reply(409, {}, { error: null, code: 'outcome_unknown' })], { attempts: 1 })
    expect((await failure(send(url, post))).code).toBe('outcome_unknown')
  })

  test('a stored failure is the answer: it will be the same for ever', async () => {
    const { send, sent } = client([reply(500, { 'idempotent-replayed': 'true' }, { error: 'broken' })])
    expect((await send(url, post)).status).toBe(500)
    expect(sent).toHaveLength(1)
  })

  test('what a server says of itself goes before: retryable, and Stripe-Should-Retry', async () => {
    const never = client([problem(500, 'handler_failed', {}, false)])
    expect((await never.send(url, post)).status).toBe(500)
    expect(never.sent).toHaveLength(1)
    const stripe = client([reply(503, { 'stripe-should-retry': 'false' })])
    expect((await stripe.send(url, post)).status).toBe(503)
    const asked = client([reply(402, { 'stripe-should-retry': 'true' }), reply(200)])
    expect((await asked.send(url, post)).status).toBe(200)
  })

  test('can be given otherwise', async () => {
    const { send, sent } = client([reply(404), reply(201)], { retry: { 404: 'again', 503: 'answer' } })
    expect((await send(url, post)).status).toBe(201)
    expect(sent).toHaveLength(2)
    const unmoved = client([reply(503)], { retry: { 503: 'answer' } })
    expect((await unmoved.send(url, post)).status).toBe(503)
  })
})

describe('a pause', () => {
  test('is a random part of a ceiling that doubles, up to its bound', async () => {
    const { send, clock } = client([reset()], { backoff: { first: '1s', max: '4s' }, attempts: 6 })
    await failure(send(url, post))
    expect(clock.pauses).toEqual([500, 1_000, 2_000, 2_000, 2_000])
  })

  test('is never shorter than Retry-After, in seconds', async () => {
    const { send, clock } = client([reply(429, { 'retry-after': '7' }), reply(201)])
    await send(url, post)
    expect(clock.pauses).toEqual([7_250])
  })

  test('nor than one that is a date, counted from the clock of the server', async () => {
    const at = (ms: number) => new Date(Date.UTC(2031, 0, 1) + ms).toUTCString()
    const { send, clock } = client([reply(503, { 'retry-after': at(9_000), date: at(0) }), reply(201)])
    await send(url, post)
    expect(clock.pauses).toEqual([9_250])
  })

  test('that would outlast the deadline is not begun, and the error says when to come back', async () => {
    const { send, sent, clock } = client([reply(503, { 'retry-after': '61' })])
    const error = await failure(send(url, post))
    expect([error.code, error.gaveUp, error.retryAfterMs]).toEqual(['no_answer', 'deadline', 61_000])
    expect([sent.length, clock.pauses]).toEqual([1, []])
  })
})

describe('the client gives up', () => {
  test('at its deadline, with the last response and a way to go on under the same key', async () => {
    const { send, sent } = client([...Array(8).fill(reply(503, {}, { busy: true })), reply(201)], {
      deadline: '10s',
      backoff: { first: '4s', max: '4s' },
    })
    const error = await failure(send(url, post))
    expect([error.code, error.gaveUp, error.attempts]).toEqual(['no_answer', 'deadline', 5])
    expect(await error.lastResponse?.json()).toEqual({ busy: true })
    expect((await error.resume?.())?.status).toBe(201)
    expect(keysOf(sent)).toEqual(new Set([error.key]))
  })

  test('after its attempts, with the cause', async () => {
    const { send } = client([reset()], { attempts: 3, backoff: { first: '1ms', max: '1ms' } })
    const error = await failure(send(url, post))
    expect([error.code, error.gaveUp, error.attempts]).toEqual(['no_answer', 'attempts', 3])
    expect(error.cause).toMatchObject({ message: 'fetch failed' })
  })

  test('when the budget is spent, which all its operations share', async () => {
    const { send, sent } = client([reset()], { attempts: 4, budget: { most: 5, share: 0.5 }, deadline: '24h' })
    const reasons = []
    for (let count = 0; count < 6; count++) reasons.push((await failure(send(url, post))).gaveUp)
    expect(reasons).toEqual(['attempts', 'budget', 'budget', 'budget', 'budget', 'budget'])
    // Six first attempts, five retries of the start and one for every second operation.
    expect(sent.length).toBeLessThanOrEqual(6 + 5 + 3)
  })

  test('and a server that asks to be asked again costs no budget', async () => {
    const running = problem(409, 'idempotency_key_in_progress')
    const { send } = client([...Array(9).fill(running), reply(201)], { budget: { most: 1, share: 0 } })
    expect((await send(url, post)).status).toBe(201)
  })
})

describe('a request that runs, or is in doubt,', () => {
  test.each(['idempotency_key_in_progress', 'outcome_unknown'])(
    'is asked about until the deadline, however often that is: %s',
    async (code) => {
      const asked = problem(409, code, { 'retry-after': '1' })
      const { send, sent } = client([...Array(40).fill(asked), reply(201)], { deadline: '10m' })
      expect((await send(url, post)).status).toBe(201)
      expect(sent).toHaveLength(41)
    },
  )

  test('is asked about no more often than the caller said', async () => {
    const { send, sent } = client([problem(409, 'idempotency_key_in_progress')], { attempts: 3, deadline: '10m' })
    expect((await failure(send(url, post))).gaveUp).toBe('attempts')
    expect(sent).toHaveLength(3)
  })

  test('and then fails is sent again as often as any other', async () => {
    const running = problem(409, 'idempotency_key_in_progress')
    const { send } = client([...Array(20).fill(running), reset(), reply(201)], { deadline: '10m' })
    expect((await send(url, post)).status).toBe(201)
  })
})

describe('what is about the key is a typed error, and is not sent again', () => {
  test.each<[code: string, response: Response]>([
    ['key_reused', problem(422, 'idempotency_key_reused_with_different_payload', {}, false)],
    ['key_reused', reply(400, {}, { error: { type: 'idempotency_error', message: 'Keys for …' } })],
    ['key_reused', reply(409, {}, { error: { code: 'IDEMPOTENCY_KEY_REUSED', message: 'This …' } })],
    ['key_rejected', problem(400, 'idempotency_key_missing', {}, false)],
    ['key_rejected', problem(400, 'idempotency_key_malformed', {}, false)],
    ['key_expired', problem(410, 'idempotency_key_expired', {}, false)],
    ['key_expired', problem(412, 'request_not_fresh', {}, false)],
    ['answer_withheld', problem(409, 'answer_withheld', {}, false)],
  ])('%s (%#)', async (code, response) => {
    const { send, sent } = client([response, reply(201)])
    const error = await failure(send(url, post))
    expect([error.code, error.attempts, error.lastResponse?.status]).toEqual([code, 1, response.status])
    expect(error.key).toBe(sent[0]?.key)
    expect(sent).toHaveLength(1)
  })

  test.each(['amount_too_small', 'constructor', '__proto__', 17, null])(
    'but a 422 of the application is an answer, whatever its code: %s',
    async (code) => {
      const { send } = client([reply(422, {}, { error: { code } })])
      expect((await send(url, post)).status).toBe(422)
    },
  )

  test.each([
    ['a code of its own', { code: 'amount_too_small', type: 'https://example.com/amounts', title: 'Too small' }],
    ['no code', { type: 'https://example.com/idempotency', title: 'Idempotency-Key is already used' }],
  ])('but a 422 problem with %s is an answer: only a code says for sure what it is about', async (_, body) => {
    const { send, sent } = client([reply(422, { 'content-type': 'application/problem+json' }, body)])
    const response = await send(url, post)
    expect([response.status, await response.json(), sent.length]).toEqual([422, body, 1])
  })
})

describe('an unknown outcome', () => {
  const unknown = problem(409, 'outcome_unknown', { 'retry-after': '20' })

  test('is asked about until it is known', async () => {
    const { send, sent, clock } = client([unknown, unknown, reply(201, { 'idempotent-replayed': 'true' })])
    expect((await send(url, post)).status).toBe(201)
    expect(clock.pauses).toEqual([20_250, 20_500])
    expect(keysOf(sent).size).toBe(1)
  })

  test('stays unknown when the network fails after that, and what the server said of when to come back stands', async () => {
    const { send, clock } = client([unknown, reset()], { attempts: 3 })
    const error = await failure(send(url, post))
    expect([error.code, error.retryAfterMs]).toEqual(['outcome_unknown', 20_000])
    expect(clock.pauses).toEqual([20_250, 500])
  })

  test('is thrown at the deadline, with a handle to go on later', async () => {
    const { send, sent } = client([unknown, unknown, unknown, reply(201)], { deadline: '50s' })
    const error = await failure(send(url, post))
    expect([error.code, error.retryAfterMs]).toEqual(['outcome_unknown', 20_000])
    expect((await error.resume?.())?.status).toBe(201)
    expect(keysOf(sent)).toEqual(new Set([error.key]))
  })
})

describe('the caller', () => {
  test('aborts during an attempt, and gets its own reason', async () => {
    const { send, sent, clock } = client([
      (signal) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    ])
    const { signal, abort } = stopper()
    const sending = send(url, { ...post, signal })
    await new Promise(setImmediate)
    expect(sent).toHaveLength(1)
    abort('enough')
    await expect(sending).rejects.toBe('enough')
    expect(clock.guards.size).toBe(0)
  })

  test('aborts a fetch that does not listen', async () => {
    const { send, clock } = client([() => new Promise(() => {})])
    const { signal, abort } = stopper()
    const sending = send(url, { ...post, signal })
    await new Promise(setImmediate)
    abort('enough')
    await expect(sending).rejects.toBe('enough')
    expect(clock.guards.size).toBe(0)
  })

  test('aborts between two attempts, and no other follows', async () => {
    const { signal, abort } = stopper()
    const { send, sent } = client([reset()], { onAttempt: () => abort('enough') })
    await expect(send(url, { ...post, signal })).rejects.toBe('enough')
    expect(sent).toHaveLength(1)
  })

  test('aborts during a pause, which ends at once', async () => {
    const { signal, abort } = stopper()
    const timers = new Set<unknown>()
    const standing: ClientOptions['clock'] = {
      ...skippingClock(),
      after(ms) {
        timers.add(ms)
        return () => void timers.delete(ms)
      },
    }
    const { send, sent, attempts } = client([reset()], { clock: standing })
    const sending = send(url, { ...post, signal })
    await expect.poll(() => [attempts.length, timers.size]).toEqual([1, 1])
    abort('enough')
    await expect(sending).rejects.toBe('enough')
    expect([sent.length, timers.size]).toEqual([1, 0])
  })

  test('who aborted before sends nothing', async () => {
    const { send, sent } = client([reply(201)])
    await expect(send(url, { ...post, signal: AbortSignal.abort('no') })).rejects.toBe('no')
    expect(sent).toHaveLength(0)
  })

  test('hears of every attempt, and cannot break one by throwing', async () => {
    const { send, attempts } = client([reset(), reply(503), reply(201)])
    await send(url, post)
    expect(attempts.map(({ attempt, status, verdict, waitMs }) => [attempt, status, verdict, waitMs])).toEqual([
      [1, undefined, 'again', 250],
      [2, 503, 'again', 500],
      [3, 201, 'answer', undefined],
    ])
    const throwing = client([reset(), reply(201)], {
      onAttempt: () => {
        throw new Error('a bug in a log')
      },
    })
    expect((await throwing.send(url, post)).status).toBe(201)
  })
})

describe('an attempt', () => {
  test('that takes too long is given up, and the next has the same key', async () => {
    const silent = (signal: AbortSignal | null | undefined) =>
      new Promise<Response>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    const { send, sent, attempts } = client([silent, reply(201)], { attemptTimeout: '30ms' })
    expect((await send(url, post)).status).toBe(201)
    expect(keysOf(sent).size).toBe(1)
    expect(attempts[0]?.error).toMatchObject({ name: 'TimeoutError' })
  })

  test('asks for the headers of the moment', async () => {
    let token = 0
    const { send, sent } = client([reply(503), reply(201)], { headers: async () => ({ authorization: `${++token}` }) })
    await send(url, post)
    expect(sent.map(({ headers }) => headers.get('authorization'))).toEqual(['1', '2'])
  })

  test('for which headers() fails is not sent, and ends the call at once with the name of what failed', async () => {
    const cause = new Error('the token cannot be renewed')
    let isDown = true
    const headers = async () => {
      if (isDown) throw cause
      return { authorization: '1' }
    }
    const { send, sent, attempts } = client([reply(201)], { headers })
    const error = await failure(send(url, post))
    expect([error.code, error.attempts, error.gaveUp]).toEqual(['headers_failed', 0, undefined])
    expect(error.message).toMatch(/headers\(\).*nothing was sent/)
    expect(error.cause).toBe(cause)
    expect([sent.length, attempts.length]).toEqual([0, 1])
    isDown = false
    expect((await error.resume?.())?.status).toBe(201)
    expect(keysOf(sent)).toEqual(new Set([error.key]))
  })

  test('for which headers() fails after another was sent leaves an outcome that nobody knows, and says so', async () => {
    const { send, sent } = client([reset(), reply(201)], {
      headers: () => {
        if (sent.length === 1) throw new Error('the token cannot be renewed')
        return {}
      },
    })
    const error = await failure(send(url, post))
    expect([error.code, error.attempts, sent.length]).toEqual(['headers_failed', 1, 1])
    expect(error.message).toMatch(/headers\(\).*may have run.*no new key/)
    expect(error.resume).toBeDefined()
  })

  test('for which headers() gives what is no header is not sent', async () => {
    const { send, sent } = client([reply(201)], { headers: () => ({ authorization: 'a\nb' }) })
    expect((await failure(send(url, post))).code).toBe('headers_failed')
    expect(sent).toHaveLength(0)
  })

  test('is not begun once the caller has aborted, however long headers() took', async () => {
    const { signal, abort } = stopper()
    let answer = () => {}
    const headers = () => new Promise<Record<string, string>>((resolve) => (answer = () => resolve({})))
    const { send, sent } = client([reply(201)], { headers })
    const sending = send(url, { ...post, signal })
    await new Promise(setImmediate)
    abort('enough')
    await expect(sending).rejects.toBe('enough')
    answer()
    await new Promise(setImmediate)
    expect(sent).toHaveLength(0)
  })

  test('that was answered leaves no timer behind', async () => {
    const { send, clock } = client([reset(), reply(201)])
    await send(url, post)
    expect(clock.guards.size).toBe(0)
  })
})

describe('a method that changes nothing', () => {
  test('has no key, and is sent again too', async () => {
    const { send, sent } = client([reset(), reply(503), reply(200)])
    expect((await send(url)).status).toBe(200)
    expect(sent.map(({ key }) => key)).toEqual([null, null, null])
  })

  test('gets the last response as it is when the client gives up, as from fetch', async () => {
    const { send } = client([reply(503), reply(409)], { attempts: 1 })
    expect((await send(url)).status).toBe(503)
    expect((await send(url)).status).toBe(409)
  })
})

function stopper() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: (reason: string) => controller.abort(reason) }
}
