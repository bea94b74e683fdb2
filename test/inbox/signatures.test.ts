import { createHmac } from 'node:crypto'
import { type Delivery, type SignatureOptions, standardWebhooks, stripeSignature } from 'hapax'
import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { describe, expect, test } from 'vitest'
import { headersOf } from '../../src/inbox/delivery.js'

const now = 1_700_000_000_000
const seconds = now / 1_000
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const otherSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const text = '{"id":"evt_1","amount":12345678901234567890}'

type Headers = Readonly<Record<string, string | undefined>>

function delivery(headers: Headers, body: string | Uint8Array = text): Delivery {
  return { headers: headersOf(headers), body: Buffer.from(body as string) }
}

/** How a check ends: with the id of the event, or with the code of its refusal. */
async function ends(check: () => unknown): Promise<unknown> {
  try {
    return await check()
  } catch (error) {
    return (error as { code?: unknown }).code ?? error
  }
}

/** Signs as the reference implementation of Standard Webhooks does. */
function standard({ id = 'msg_1', at = seconds, by = secret, body = text } = {}): Headers {
  const signature = new Webhook(by).sign(id, new Date(at * 1_000), body)
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signature }
}

function standardEnd(
  headers: Headers,
  { body = text as string | Uint8Array, secrets = [secret], tolerance = '5m' } = {},
) {
  const options = { secrets, tolerance } as SignatureOptions
  return ends(() => standardWebhooks(options)(delivery(headers, body), { now }))
}

describe('a delivery signed as Standard Webhooks say', () => {
  test('is the event that its webhook-id names', async () => {
    expect(await standardEnd(standard())).toEqual({ eventId: 'msg_1' })
  })

  test('passes with the vector that the specification publishes', async () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const verify = standardWebhooks({ secrets: [secret] })
    const found = await verify(delivery(headers, '{"test": 2432232314}'), { now: 1_614_265_330_000 })
    expect(found).toEqual({ eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek' })
  })

  test('passes under a secret without its prefix, and with the names of headers in any case', async () => {
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = standard()
    const shouted = { 'WEBHOOK-ID': id, 'Webhook-Timestamp': at, 'Webhook-Signature': signature }
    expect(await standardEnd(shouted, { secrets: [secret.slice('whsec_'.length)] })).toEqual({ eventId: 'msg_1' })
  })

  test('passes under the new secret and under the old one while they are exchanged', async () => {
    const secrets = [otherSecret, secret]
    expect(await standardEnd(standard(), { secrets })).toEqual({ eventId: 'msg_1' })
    expect(await standardEnd(standard({ by: otherSecret }), { secrets })).toEqual({ eventId: 'msg_1' })
  })

  test('passes if one of several signatures fits, whatever the others are', async () => {
    const { 'webhook-signature': fits = '' } = standard()
    const { 'webhook-signature': other = '' } = standard({ by: otherSecret })
    for (const signatures of [`${other} ${fits}`, `v1a,AAAA ${fits}`, `v1, nonsense v2,x  ${fits} v1,####`]) {
      expect(await standardEnd({ ...standard(), 'webhook-signature': signatures })).toEqual({ eventId: 'msg_1' })
    }
  })

  test('is checked over bytes, also where they are no text', async () => {
    const bytes = Buffer.from([0x7b, 0xff, 0x00, 0x7d])
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const signature = createHmac('sha256', key).update(`msg_1.${seconds}.`).update(bytes).digest('base64')
    const headers = { ...standard(), 'webhook-signature': `v1,${signature}` }
    expect(await standardEnd(headers, { body: bytes })).toEqual({ eventId: 'msg_1' })
    expect(await standardEnd(headers, { body: bytes.toString() })).toBe('webhook_signature_invalid')
  })

  test.each<[string, Headers, string?]>([
    ['with another secret', standard({ by: otherSecret })],
    ['and then changed in one byte of its body', standard(), text.replace('890', '891')],
    ['and written anew, with the same meaning', standard(), `${text} `],
    ['and then given another id', { ...standard(), 'webhook-id': 'msg_2' }],
    ['and then given another time', { ...standard(), 'webhook-timestamp': String(seconds + 1) }],
    ['under a version that is not v1', { ...standard(), 'webhook-signature': `v2,${sig()}` }],
    ['without saying the version', { ...standard(), 'webhook-signature': sig() }],
    ['with half a signature', { ...standard(), 'webhook-signature': `v1,${sig().slice(0, 20)}` }],
    ['with more than a signature', { ...standard(), 'webhook-signature': `v1,${longer()}` }],
    ['with an empty signature', { ...standard(), 'webhook-signature': 'v1,' }],
    ['with nothing', { ...standard(), 'webhook-signature': '' }],
    ['but without its id', { ...standard(), 'webhook-id': undefined }],
    ['but without its time', { ...standard(), 'webhook-timestamp': undefined }],
    ['but without its signature', { ...standard(), 'webhook-signature': undefined }],
    ['in no way at all', {}],
  ])('is refused when it is signed %s', async (_, headers, body = text) => {
    expect(await standardEnd(headers, { body })).toBe('webhook_signature_invalid')
  })

  test.each([
    [-300, { eventId: 'msg_1' }],
    [300, { eventId: 'msg_1' }],
    [-301, 'webhook_timestamp_refused'],
    [301, 'webhook_timestamp_refused'],
  ])('%d seconds from now ends in %j', async (from, end) => {
    expect(await standardEnd(standard({ at: seconds + from }))).toEqual(end)
  })

  test('may be further from now where its tolerance says so', async () => {
    expect(await standardEnd(standard({ at: seconds - 3_000 }), { tolerance: '1h' })).toEqual({ eventId: 'msg_1' })
    expect(await standardEnd(standard({ at: seconds - 3 }), { tolerance: '2s' })).toBe('webhook_timestamp_refused')
  })

  test.each(['soon', '1e9', '-1700000000', '1700000000.0', `${now}`, ' ', '9'.repeat(400)])(
    'is refused when its time is %j, signed or not',
    async (at) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
      const signature = createHmac('sha256', key).update(`msg_1.${at}.${text}`).digest('base64')
      const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
      expect(await standardEnd(headers)).toBe('webhook_timestamp_refused')
      expect(await standardEnd({ ...headers, 'webhook-signature': 'v1,AAAA' })).toBe('webhook_signature_invalid')
    },
  )

  test('that is old and forged is told to be forged: nobody learns the time from a guess', async () => {
    expect(await standardEnd(standard({ at: 1, by: otherSecret }))).toBe('webhook_signature_invalid')
  })
})

function sig(): string {
  return (standard()['webhook-signature'] ?? '').slice('v1,'.length)
}

function longer(): string {
  return Buffer.concat([Buffer.from(sig(), 'base64'), Buffer.from([0])]).toString('base64')
}

const stripe = new Stripe('sk_test_none')

/** Signs as Stripe does. */
function signedByStripe({ at = seconds, by = secret, body = text } = {}): string {
  return stripe.webhooks.generateTestHeaderString({ payload: body, secret: by, timestamp: at })
}

function stripeEnd(header: string | undefined, { body = text, secrets = [secret] } = {}) {
  const given = delivery({ 'Stripe-Signature': header }, body)
  return ends(() => stripeSignature({ secrets })(given, { now }))
}

describe('a delivery signed as Stripe does', () => {
  test('is the event that the id in its body names', async () => {
    expect(await stripeEnd(signedByStripe())).toEqual({ eventId: 'evt_1' })
  })

  test('passes under the new secret and under the old one while they are exchanged', async () => {
    expect(await stripeEnd(signedByStripe(), { secrets: ['whsec_new', secret] })).toEqual({ eventId: 'evt_1' })
  })

  test('passes if one of several signatures fits', async () => {
    const [, other] = signedByStripe({ by: 'whsec_other' }).split(',')
    const [time, fits] = signedByStripe().split(',')
    expect(await stripeEnd(`${time},${other},v0=${'0'.repeat(64)},${fits}`)).toEqual({ eventId: 'evt_1' })
    expect(await stripeEnd(`${fits}, ${time}`)).toEqual({ eventId: 'evt_1' })
  })

  test.each<[string, string | undefined, string?]>([
    ['with another secret', signedByStripe({ by: 'whsec_other' })],
    ['and then changed in its body', signedByStripe(), text.replace('evt_1', 'evt_2')],
    ['and then given another time', signedByStripe().replace(`t=${seconds}`, `t=${seconds + 1}`)],
    ['and then given a second time', `t=${seconds + 1},${signedByStripe()}`],
    ['and then given a second time behind the first', `${signedByStripe()},t=${seconds + 1}`],
    ['under another version', signedByStripe().replace('v1=', 'v0=')],
    ['without its time', signedByStripe().replace(/^t=\d+,/, '')],
    ['with half a signature', signedByStripe().slice(0, -2)],
    ['with nothing but a time', `t=${seconds}`],
    ['with nothing', ''],
    ['in no way at all', undefined],
  ])('is refused when it is signed %s', async (_, header, body = text) => {
    expect(await stripeEnd(header, { body })).toBe('webhook_signature_invalid')
  })

  test.each([
    [-300, { eventId: 'evt_1' }],
    [300, { eventId: 'evt_1' }],
    [-301, 'webhook_timestamp_refused'],
    [301, 'webhook_timestamp_refused'],
  ])('%d seconds from now ends in %j', async (from, end) => {
    expect(await stripeEnd(signedByStripe({ at: seconds + from }))).toEqual(end)
  })

  test.each(['not json', '{}', '{"id":17}', 'null', '[]', '"evt_1"'])('is malformed when it is %s', async (body) => {
    expect(await stripeEnd(signedByStripe({ body }), { body })).toBe('webhook_malformed')
    expect(await stripeEnd(signedByStripe({ body, by: 'whsec_other' }), { body })).toBe('webhook_signature_invalid')
  })
})

describe('secrets', () => {
  const refused = (options: unknown) =>
    expect(() => standardWebhooks(options as SignatureOptions)).toThrow(
      expect.objectContaining({ code: 'policy_invalid' }),
    )

  test.each<[string, unknown]>([
    ['nothing is given', undefined],
    ['there is no list', { secrets: secret }],
    ['the list is empty', { secrets: [] }],
    ['the environment has none', { secrets: [undefined, ''] }],
    ['one is no text', { secrets: [secret, 17] }],
    ['one is not base64', { secrets: ['whsec_not base64 at all, but long enough'] }],
    ['one came with a line end', { secrets: [`${secret}\n`] }],
    ['one is too short', { secrets: [`whsec_${Buffer.alloc(23).toString('base64')}`] }],
    ['one is nothing but its prefix', { secrets: ['whsec_'] }],
    ['the tolerance is no duration', { secrets: [secret], tolerance: '5 minutes' }],
  ])('are refused at start when %s', (_, options) => {
    refused(options)
  })

  test('that are not there are left out: an empty secret signs nothing', async () => {
    const secrets = [undefined, '', secret] as string[]
    expect(await standardEnd(standard(), { secrets })).toEqual({ eventId: 'msg_1' })
    const [time] = signedByStripe().split(',')
    const forged = createHmac('sha256', '').update(`${seconds}.${text}`).digest('hex')
    expect(await stripeEnd(`${time},v1=${forged}`, { secrets })).toBe('webhook_signature_invalid')
  })

  test.each([[[]], [['']], [['whsec_a\n']]])('of Stripe are refused at start when they are %j', (secrets) => {
    expect(() => stripeSignature({ secrets })).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
  })

  test('are in no message', () => {
    const short = 'whsec_c2hvcnQ='
    expect(() => standardWebhooks({ secrets: [short] })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('c2hvcnQ') }),
    )
  })
})

describe('headers', () => {
  test.each<[string, Parameters<typeof headersOf>[0]]>([
    ['an object', { 'X-Name': 'a, b' }],
    ['an object with lists', { 'x-name': ['a', 'b'], other: undefined }],
    ['pairs', [['x-name', 'a'] as const, ['X-Name', 'b'] as const]],
    ['a Map', new Map([['x-NAME', 'a, b']])],
    [
      'Headers',
      new Headers([
        ['x-name', 'a'],
        ['x-name', 'b'],
      ]),
    ],
  ])('are found in any case in %s', (_, source) => {
    expect(headersOf(source).get('x-Name')).toBe('a, b')
    expect(headersOf(source).get('other')).toBeUndefined()
  })
})
