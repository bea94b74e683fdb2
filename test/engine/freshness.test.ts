import { keyOf, scopeOf } from 'hapax'
import { describe, expect, test } from 'vitest'
import { timeInKey } from '../../src/engine/key-time.js'
import { bench } from '../support/bench.js'

const hour = 3_600_000

describe('the time in a key', () => {
  test.each([
    // The examples of RFC 9562 and of the specification of ULID.
    ['017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 1_645_557_742_000],
    ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 1_469_922_850_259],
    ['01arz3ndektsv4rrffq69g5fav', 1_469_922_850_259],
    ['00000000000000000000000000', 0],
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', undefined],
    ['order-7', undefined],
    ['81ARZ3NDEKTSV4RRFFQ69G5FAV', undefined],
  ])('of %s is %s', (key, time) => {
    expect(timeInKey(key)).toBe(time)
  })
})

/** A UUIDv7 of this time. */
function keyAt(ms: number, tail = '000000000000'): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${tail}`
}

test('a new key runs until answers are about to be forgotten, and then is refused without a trace', async () => {
  const { hapax, policy, clock, record, events, faults } = bench()
  const payments = policy({ freshness: { by: 'key' } })
  const run = (key: string) => hapax.run({ scope: 'acme', key, policy: payments }, async () => 'ran')
  expect(await run(keyAt(clock.now() - 24 * hour + 5 * 60_000 + 1))).toMatchObject({ value: 'ran' })
  const stale = keyAt(clock.now() - 24 * hour + 5 * 60_000)
  await expect(run(stale)).rejects.toMatchObject({ code: 'request_not_fresh', retryable: false })
  expect(await record(stale)).toBeUndefined()
  expect(events.filter((name) => name === 'turned_away')).toHaveLength(1)
  expect(faults.asked.get('release')).toBeUndefined()
})

test('a key from the future is refused, and one from a clock that is a little ahead is not', async () => {
  const { hapax, policy, clock } = bench()
  const payments = policy({ freshness: { by: 'key' } })
  const run = (key: string) => hapax.run({ scope: 'acme', key, policy: payments }, async () => 'ran')
  expect(await run(keyAt(clock.now() + 60_000))).toMatchObject({ value: 'ran' })
  await expect(run(keyAt(clock.now() + hour))).rejects.toMatchObject({ code: 'request_not_fresh' })
})

test('a retry of a known key replays, however old the key is', async () => {
  const { hapax, policy, clock } = bench()
  const payments = policy({ freshness: { by: 'key' } })
  const key = keyAt(clock.now() - 23 * hour)
  const run = () => hapax.run({ scope: 'acme', key, policy: payments }, async () => 'ran')
  await run()
  await clock.advance(23 * hour)
  expect(await run()).toMatchObject({ replayed: true })
})

test('a request that was dated ahead does not run again after its answer is forgotten', async () => {
  const { hapax, policy, clock } = bench()
  const key = keyAt(clock.now() + 4 * 60_000)
  let runs = 0
  const run = () => hapax.run({ scope: 'acme', key, policy: policy({ freshness: { by: 'key' } }) }, async () => ++runs)
  await run()
  await clock.advance(24 * hour + 1)
  await expect(run()).rejects.toMatchObject({ code: 'request_not_fresh' })
  expect(runs).toBe(1)
})

test('an old key does not run anew when its answer is forgotten', async () => {
  const { hapax, policy, clock } = bench()
  const payments = policy({ freshness: { by: 'key' } })
  const key = keyAt(clock.now())
  let runs = 0
  const run = () => hapax.run({ scope: 'acme', key, policy: payments }, async () => ++runs)
  await run()
  await clock.advance(24 * hour + 1)
  await expect(run()).rejects.toMatchObject({ code: 'request_not_fresh' })
  expect(runs).toBe(1)
})

test('a fresh key costs no question before it is taken', async () => {
  const { hapax, policy, clock, faults } = bench()
  const key = keyAt(clock.now())
  await hapax.run({ scope: 'acme', key, policy: policy({ freshness: { by: 'key' } }) }, async () => 'ran')
  expect(faults.asked.get('reserve')).toBe(1)
})

describe('the time in a header', () => {
  /** How a request with a new key ends that says it was first sent then. */
  async function sent(at: string) {
    const { hapax, policy } = bench()
    const answer = { status: 200, headers: [], body: new TextEncoder().encode('{}') }
    return hapax.execute({
      scope: scopeOf('acme'),
      key: keyOf('k-1'),
      policy: policy({ freshness: { by: 'header', name: 'first-sent' }, retention: '7300d' }),
      source: { subject: ['POST', '/'], mediaType: undefined, body: answer.body, header: () => at },
      handler: async () => answer,
      toAnswer: () => answer,
      errorToAnswer: () => answer,
    })
  }

  test.each([
    ['Tue, 15 Nov 2022 12:45:26 GMT'],
    ['Sat, 29 Feb 2020 00:00:00 GMT'],
    ['2022-11-15T12:45:26Z'],
    ['2022-11-15T12:45:26.123456Z'],
    ['2020-02-29T23:59:59+23:59'],
    ['2022-12-31T23:59:59-11:30'],
  ])('%s is a date', async (text) => {
    expect(await sent(text)).toMatchObject({ kind: 'answered' })
  })

  test.each([
    ['2022-02-31T00:00:00Z'],
    ['2023-02-29T00:00:00Z'],
    ['2022-04-31T00:00:00+02:00'],
    ['2022-13-01T00:00:00Z'],
    ['2022-00-10T00:00:00Z'],
    ['2022-11-15T24:00:00Z'],
    ['2022-11-15T12:60:00Z'],
    ['2022-11-15T12:45:26+24:00'],
    ['2022-11-15T12:45:26-00:60'],
    ['2022-11-15T12:45:26'],
    ['2022-11-15'],
    ['Wed, 31 Feb 2022 00:00:00 GMT'],
    ['Mon, 15 Nov 2022 12:45:26 GMT'],
    ['Xxx, 15 Nov 2022 12:45:26 GMT'],
    ['Tue, 15 Nov 2022 25:45:26 GMT'],
    ['1668516326'],
    [''],
  ])('%j is none that a calendar has', async (text) => {
    expect(await sent(text)).toMatchObject({ kind: 'refused', error: { code: 'first_sent_invalid' } })
  })
})

test.each([
  { freshness: { by: 'key' }, retention: 'forever' },
  { freshness: { by: 'header', name: '' } },
  { freshness: { by: 'header' } },
  { freshness: 'key' },
])('the policy %j is refused at start', (options) => {
  expect(() => bench().policy(options as never)).toThrow(expect.objectContaining({ code: 'policy_invalid' }))
})
