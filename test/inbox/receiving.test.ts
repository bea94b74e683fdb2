import { HapaxError, type InboxOptions, inbox, standardWebhooks, type Verify } from 'hapax'
import { describe, expect, test } from 'vitest'
import { statusOf } from '../../src/http/statuses.js'
import { bounded, gate } from '../support/waiting.js'
import { airtm, host, otherSecret, type Payment, paid, problemIn, type Rows, secret, signed } from './given.js'

describe('a delivery', () => {
  test('that is the first of its event answers 200 {"status":"ok"}, and its work is committed', async () => {
    const hapax = host()
    expect(await airtm(hapax).receive(signed(hapax))).toEqual({
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: '{"status":"ok"}',
    })
    expect(hapax.rows).toEqual(['msg_1'])
    expect(hapax.told).toEqual([['webhook_received', { provider: 'airtm' }]])
  })

  test('of a known event answers 200 {"status":"ok","duplicate":true}, and nothing runs', async () => {
    const hapax = host()
    const inbox = airtm(hapax)
    await inbox.receive(signed(hapax))
    await hapax.clock.advance(60_000)
    expect(await inbox.receive(signed(hapax))).toEqual({
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: '{"status":"ok","duplicate":true}',
    })
    expect(hapax.rows).toEqual(['msg_1'])
    expect(hapax.told.at(-1)).toEqual(['webhook_duplicate', { provider: 'airtm' }])
  })

  test('of another event, or the same id at another provider, is a first one', async () => {
    const hapax = host()
    for (const provider of ['airtm', 'trustless_work']) {
      for (const id of ['msg_1', 'msg_2']) {
        expect((await airtm(hapax, { provider }).receive(signed(hapax, { id }))).body).toBe('{"status":"ok"}')
      }
    }
    expect(hapax.known.size).toBe(4)
  })

  test('is verified, then remembered, then worked on, then committed, in this order', async () => {
    const hapax = host()
    const verify: Verify = (delivery, at) => {
      hapax.steps.push('verify')
      return standardWebhooks({ secrets: [secret] })(delivery, at)
    }
    await airtm(hapax, { verify }).receive(signed(hapax))
    expect(hapax.steps).toEqual(['verify', 'receive', 'handle', 'commit'])
  })

  test('gives its work the event, its id, its bytes and the transaction', async () => {
    const hapax = host()
    const seen: unknown[] = []
    const body = '{"type":"t","data":{"reference":"é"},"amount":12345678901234567890}'
    const handle: InboxOptions<Rows, Payment>['handle'] = ({ event, eventId, body, tx }) => {
      seen.push(event.data.reference, eventId, Buffer.from(body).toString(), typeof tx.insert)
    }
    expect((await airtm(hapax, { handle }).receive(signed(hapax, { body }))).status).toBe(200)
    expect(seen).toEqual(['é', 'msg_1', body, 'function'])
  })

  test('is judged by the clock of the engine', async () => {
    const hapax = host()
    const early = signed(hapax)
    await hapax.clock.advance(300_000)
    expect((await airtm(hapax).receive(early)).status).toBe(200)
    await hapax.clock.advance(1_000)
    expect((await airtm(hapax).receive(early)).status).toBe(401)
  })
})

describe('a delivery that is refused', () => {
  const refusals: [code: string, status: number, (hapax: ReturnType<typeof host>) => ReturnType<typeof signed>][] = [
    ['webhook_signature_invalid', 401, (hapax) => signed(hapax, { by: otherSecret })],
    ['webhook_signature_invalid', 401, (hapax) => ({ ...signed(hapax), body: Buffer.from('{}') })],
    ['webhook_timestamp_refused', 401, (hapax) => signed(hapax, { at: -301_000 })],
    ['webhook_timestamp_refused', 401, (hapax) => signed(hapax, { at: 301_000 })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { body: '{"type":' })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { body: '' })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { body: Buffer.from([0x22, 0xff, 0x22]) })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { id: '' })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { id: 'x'.repeat(256) })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { id: 'msg\u0000' })],
    ['webhook_malformed', 400, (hapax) => signed(hapax, { id: 'é' })],
    ['body_too_large', 413, (hapax) => signed(hapax, { body: `"${'x'.repeat(1024 * 1024)}"` })],
  ]

  test.each(refusals)(
    'as %s is a problem with status %d, and nothing was asked of the store',
    async (code, status, of) => {
      const hapax = host()
      const reply = await airtm(hapax).receive(of(hapax))
      expect(reply.status).toBe(status)
      expect(reply.headers).toMatchObject({ 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' })
      expect(reply.headers['WWW-Authenticate']).toBe(status === 401 ? 'Webhook-Signature' : undefined)
      expect(problemIn(reply)).toEqual({
        type: `/idempotency/errors#${code}`,
        title: expect.stringMatching(/\.$/),
        status,
        detail: expect.stringMatching(/\.$/),
        code,
        retryable: false,
      })
      expect(hapax.steps).toEqual([])
      expect(hapax.told).toEqual([['webhook_refused', { provider: 'airtm', errorCode: code }]])
    },
  )

  test.each(refusals)('as %s has the status that the page of errors says', (code, status) => {
    expect(statusOf(code as 'webhook_malformed', 'caller')).toBe(status)
  })

  test('for its length is refused before its signature is looked at', async () => {
    const hapax = host()
    const reply = await airtm(hapax, { bodyLimit: 10 }).receive({ headers: {}, body: Buffer.alloc(11) })
    expect(reply.status).toBe(413)
    expect((await airtm(hapax, { bodyLimit: 10 }).receive({ headers: {}, body: Buffer.alloc(10) })).status).toBe(401)
  })

  test('has the longest id that is taken, and every printable character in it', async () => {
    const hapax = host()
    const id = `${String.fromCharCode(...Array.from({ length: 95 }, (_, index) => 32 + index))}`.padEnd(255, 'x')
    expect((await airtm(hapax).receive(signed(hapax, { id }))).status).toBe(200)
  })

  test('may be delivered rightly afterwards: a forged one takes no id', async () => {
    const hapax = host()
    await airtm(hapax).receive(signed(hapax, { by: otherSecret }))
    expect((await airtm(hapax).receive(signed(hapax))).body).toBe('{"status":"ok"}')
  })

  test('points to where the API publishes its errors', async () => {
    const hapax = host()
    const inbox = airtm(hapax, { docs: 'https://developers.example.com/keys' })
    const { type } = problemIn(await inbox.receive({ headers: {}, body: undefined }))
    expect(type).toBe('https://developers.example.com/keys/errors#webhook_signature_invalid')
  })

  test('by parse is malformed, and the log says why', async () => {
    const hapax = host()
    const parse = () => {
      throw new TypeError('no such kind')
    }
    const reply = await airtm(hapax, { parse }).receive(signed(hapax))
    expect([reply.status, problemIn(reply).code]).toEqual([400, 'webhook_malformed'])
    expect(reply.body).not.toContain('no such kind')
    expect(hapax.logged).toEqual([
      { level: 'warn', code: 'webhook_malformed', message: 'inbox "airtm": parse threw TypeError: no such kind' },
    ])
    expect(hapax.steps).toEqual([])
  })
})

describe('work that throws', () => {
  const failing = () => {
    throw new Error('card number 4242')
  }

  test('is a 500 that tells nothing and a line in the log; all of it is rolled back, and the redelivery runs', async () => {
    const hapax = host()
    let runs = 0
    const inbox = airtm(hapax, {
      handle: ({ tx }) => {
        tx.insert(`run ${++runs}`)
        if (runs === 1) failing()
      },
    })
    expect(await inbox.receive(signed(hapax))).toEqual({
      status: 500,
      headers: { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' },
      body: '{"type":"about:blank","title":"Internal Server Error","status":500}',
    })
    expect(hapax.logged).toEqual([
      { level: 'error', code: 'handler_failed', message: 'inbox "airtm" threw Error: card number 4242' },
    ])
    expect(hapax.told).toEqual([['webhook_refused', { provider: 'airtm', errorCode: 'handler_failed' }]])
    expect((await inbox.receive(signed(hapax))).body).toBe('{"status":"ok"}')
    expect(hapax.rows).toEqual(['run 2'])
  })

  test.each<[string, unknown, number]>([
    ['a refusal of ours to another request', new HapaxError('idempotency_key_in_progress'), 500],
    ['a bug in its use of the transaction', new HapaxError('transaction_ended'), 500],
    ['that it held the transaction too long', new HapaxError('transaction_timeout'), 500],
    ['nothing that is an error', undefined, 500],
    ['that the store failed under it', new HapaxError('store_failed', 'disk full'), 503],
    ['that the engine is closed', new HapaxError('engine_closed'), 503],
  ])('%s: the provider comes back', async (_, error, status) => {
    const hapax = host()
    const reply = await airtm(hapax, { handle: () => Promise.reject(error) }).receive(signed(hapax))
    expect([reply.status, reply.headers['Retry-After']]).toEqual([status, status === 503 ? '1' : undefined])
    expect(hapax.known.size).toBe(0)
  })
})

describe('a store that fails', () => {
  test.each(['receive', 'commit'] as const)('at %s is a 503 with Retry-After that tells nothing', async (step) => {
    const hapax = host()
    hapax.fail(step, new HapaxError('idempotency_store_unavailable', 'password of db1', { retryAfterMs: 2_500 }))
    const reply = await airtm(hapax).receive(signed(hapax))
    expect([reply.status, reply.headers['Retry-After']]).toEqual([503, '3'])
    expect(problemIn(reply)).toMatchObject({ code: 'idempotency_store_unavailable', retryable: true, retry_after: 3 })
    expect(reply.body).not.toContain('password')
    expect(hapax.rows).toEqual([])
    expect((await airtm(hapax).receive(signed(hapax))).body).toBe('{"status":"ok"}')
  })

  test('in words of its own is a 503 all the same', async () => {
    const hapax = host()
    hapax.fail('commit', new Error('ECONNRESET'))
    const reply = await airtm(hapax).receive(signed(hapax))
    expect([reply.status, reply.headers['Retry-After']]).toEqual([503, '1'])
    expect(hapax.told).toEqual([['webhook_refused', { provider: 'airtm', errorCode: 'idempotency_store_unavailable' }]])
  })
})

describe('verify', () => {
  const verifying = (verify: Verify) => {
    const hapax = host()
    return {
      hapax,
      reply: airtm(hapax, { verify }).receive({ headers: { 'X-Token': 'abc' }, body: Buffer.from(paid) }),
    }
  }

  test('may be any function, at once or later', async () => {
    const verify: Verify = async ({ headers, body }) => ({ eventId: `${headers.get('x-token')}-${body.byteLength}` })
    const { hapax, reply } = verifying(verify)
    expect((await reply).status).toBe(200)
    expect([...hapax.known]).toEqual([`airtm abc-${paid.length}`])
  })

  test('that throws what is no refusal is a bug: 500, logged, and nothing was stored', async () => {
    const { hapax, reply } = verifying(() => {
      throw new TypeError('keys is undefined')
    })
    expect((await reply).status).toBe(500)
    expect(hapax.logged).toEqual([expect.objectContaining({ message: expect.stringContaining('keys is undefined') })])
    expect(hapax.steps).toEqual([])
  })

  test.each([undefined, {}, { eventId: 17 }])('that gives %j names no event', async (found) => {
    const { hapax, reply } = verifying(() => found as never)
    expect(problemIn(await reply).code).toBe('webhook_malformed')
    expect(hapax.steps).toEqual([])
  })

  test('that does not end is given up after five seconds', async () => {
    const { hapax, reply } = verifying(() => new Promise(() => {}))
    await hapax.clock.advance(5_000)
    expect((await bounded(reply, 'a reply')).status).toBe(500)
    expect(hapax.steps).toEqual([])
  })
})

describe('what cannot work', () => {
  test.each<[string, object]>([
    ['policy_invalid', { provider: '' }],
    ['policy_invalid', { provider: 'x'.repeat(101) }],
    ['policy_invalid', { hapax: undefined }],
    ['policy_invalid', { verify: undefined }],
    ['policy_invalid', { parse: 'json' }],
    ['policy_invalid', { bodyLimit: 0 }],
    ['policy_invalid', { bodyLimit: Number.NaN }],
    ['handler_missing', { handle: undefined }],
    ['transaction_unsupported', { hapax: { ...host(), inbox: undefined } }],
  ])('is refused at start with %s: %j', (code, options) => {
    expect(() => airtm(host(), options)).toThrow(expect.objectContaining({ code }))
  })

  test('is refused when there are no options', () => {
    const nothing = undefined as unknown as InboxOptions<Rows>
    expect(() => inbox(nothing)).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  })

  test('is a body that was parsed: the developer is told, and the provider nothing', async () => {
    const hapax = host()
    const { headers } = signed(hapax)
    const reply = await airtm(hapax).receive({ headers, body: JSON.parse(paid) })
    expect(reply.status).toBe(500)
    expect(hapax.logged).toEqual([expect.objectContaining({ message: expect.stringContaining('raw bodies') })])
  })
})

test('work that is under way holds no reply of another event', async () => {
  const hapax = host()
  const { opened, open } = gate()
  const inbox = airtm(hapax, { handle: ({ eventId }) => (eventId === 'slow' ? opened : undefined) })
  const slow = inbox.receive(signed(hapax, { id: 'slow' }))
  expect((await inbox.receive(signed(hapax, { id: 'quick' }))).status).toBe(200)
  open()
  expect((await slow).status).toBe(200)
})
