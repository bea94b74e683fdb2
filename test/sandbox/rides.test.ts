import { beforeAll, describe, expect, test } from 'vitest'
import { globex } from './payment-client.js'
import { ledger, tell, until } from './providers-process.js'
import { eventually, fault, get, isReplay, postJson, retriedUntil, stateOf, type Try, trip } from './sandbox-client.js'
import { type SandboxProcess, startSandbox } from './sandbox-process.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'

const ride = (sandbox: SandboxProcess, attempt: Try = {}, body: unknown = trip) =>
  postJson(sandbox, '/rides', body, attempt)
const charges = (sandbox: SandboxProcess) => ledger(sandbox, '?provider=card&operation=charge')

describe('a ride', () => {
  let sandbox: SandboxProcess
  beforeAll(async () => {
    sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  })

  test('is paid once, and its retry gets the same bytes as Stripe would send them', async () => {
    const first = await ride(sandbox, { key: 'k' })
    const { id, chargeId } = first.json
    expect(first).toMatchObject({ status: 201, json: { ...trip, status: 'paid', receipt: 'queued' } })
    expect(first.headers.get('location')).toBe(`/rides/${id}`)
    const again = await ride(sandbox, { key: 'k' })
    expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true])
    const paid = (await charges(sandbox)).filter(({ reference }) => reference === id)
    expect(paid).toMatchObject([{ operation: 'charge', amount: 2000, currency: 'usd', object: chargeId }])
    const other = await ride(sandbox, { key: 'k' }, { ...trip, amountCents: 2001 })
    expect(other).toMatchObject({ status: 400, json: { error: { type: 'idempotency_error' } } })
  })

  test('has its receipt sent by a worker, once', async () => {
    const { json } = await ride(sandbox)
    await until(async () => expect((await get(sandbox, `/rides/${json.id}`)).json.receipt).toBe('sent'))
    const sent = (await ledger(sandbox, '?provider=notifier')).filter(({ reference }) => reference === json.id)
    expect(sent).toHaveLength(1)
  })

  test('is shown to its tenant and nobody else', async () => {
    const { json } = await ride(sandbox)
    expect((await get(sandbox, `/rides/${json.id}`)).json).toMatchObject({ ...trip, id: json.id })
    const theirs = await get(sandbox, `/rides/${json.id}`, globex)
    expect(theirs).toMatchObject({ status: 404, json: { error: { code: 'ride_not_found' } } })
    const { json: page } = await get(sandbox, '/rides?limit=1')
    expect(page).toMatchObject({ rides: [{ id: json.id }], next: json.id })
    expect((await get(sandbox, `/rides?limit=1&after=${page.next}`)).json.rides).not.toMatchObject([{ id: json.id }])
    expect((await get(sandbox, '/rides', globex)).json).toEqual({ rides: [] })
  })

  test('of ten retries at once one charges; the others get its answer, or are told to wait', async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 300 })
    const answers = await Promise.all(Array.from({ length: 10 }, () => ride(sandbox, { key: 'ten' })))
    const waiting = answers.filter(({ status }) => status === 409)
    expect(waiting.map(({ json }) => json)).toEqual(
      waiting.map(() => ({ error: expect.objectContaining({ code: 'idempotency_key_in_use' }) })),
    )
    const { json } = await retriedUntil(201, () => ride(sandbox, { key: 'ten' }))
    expect((await charges(sandbox)).filter(({ reference }) => reference === json.id)).toHaveLength(1)
  })

  test('that is declined says so with 402, is kept, and charges nobody', async () => {
    const before = await charges(sandbox)
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'decline' })
    const first = await ride(sandbox, { key: 'declined' })
    expect(first).toMatchObject({ status: 402, json: { error: { type: 'card_error', code: 'card_declined' } } })
    const again = await ride(sandbox, { key: 'declined' })
    expect([again.status, again.text, isReplay(again)]).toEqual([402, first.text, true])
    expect(await charges(sandbox)).toEqual(before)
  })

  test('a 500 that its handler returned is the answer, and a retry gets that', async () => {
    const body = { ...trip, paymentMethod: 'pm_card_processing_error' }
    const first = await ride(sandbox, { key: 'broken' }, body)
    expect(first).toMatchObject({ status: 500, json: { error: { code: 'processing_error' } } })
    const again = await ride(sandbox, { key: 'broken' }, body)
    expect([again.status, again.text, isReplay(again)]).toEqual([500, first.text, true])
    expect(again.headers.get('stripe-should-retry')).toBe('false')
  })

  for (const [mode, status] of [
    ['timeout_before', 504],
    ['timeout_after_effect', 504],
    ['error_500_after_effect', 502],
    ['reset', 502],
  ] as const)
    test(`whose charge meets ${mode} is told to retry, and the retry is paid, once`, async () => {
      await fault(sandbox, { provider: 'card', operation: 'charge', mode })
      const first = await ride(sandbox, { key: mode })
      expect([first.status, first.headers.get('stripe-should-retry')]).toEqual([status, 'true'])
      expect(first.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      const paid = await retriedUntil(201, () => ride(sandbox, { key: mode }))
      expect((await charges(sandbox)).filter(({ reference }) => reference === paid.json.id)).toHaveLength(1)
    })

  test('is charged once where the processor breaks its promise and honours no key', async () => {
    await tell(sandbox, 'PUT', '/_providers/settings', { body: { provider: 'card', honoursKeys: false } })
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
    expect((await ride(sandbox, { key: 'forgotten' })).status).toBe(504)
    const { json } = await retriedUntil(201, () => ride(sandbox, { key: 'forgotten' }))
    expect((await charges(sandbox)).filter(({ reference }) => reference === json.id)).toHaveLength(1)
    await tell(sandbox, 'PUT', '/_providers/settings', { body: { provider: 'card', honoursKeys: true } })
  })

  test('whose client never comes back is finished by the resumer', async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'reset' })
    expect((await ride(sandbox, { key: 'gone', tenant: globex })).status).toBe(502)
    const finished = async () =>
      expect((await get(sandbox, '/rides', globex)).json.rides).toMatchObject([{ status: 'paid', receipt: 'sent' }])
    await eventually(finished)
    const answer = await ride(sandbox, { key: 'gone', tenant: globex })
    expect([answer.status, isReplay(answer)]).toEqual([201, true])
  })

  test.each([
    ['no object', []],
    ['no amount', { ...trip, amountCents: undefined }],
    ['a negative amount', { ...trip, amountCents: -1 }],
    ['an amount of no whole cents', { ...trip, amountCents: 0.5 }],
    ['an amount that is a text', { ...trip, amountCents: '2000' }],
    ['an overlong amount', { ...trip, amountCents: 100_000_000_000 }],
    ['an unknown currency', { ...trip, currency: 'xxx' }],
    ['a latitude out of range', { ...trip, origin: { lat: 90.1, lon: 0 } }],
    ['a longitude out of range', { ...trip, destination: { lat: 0, lon: -180.5 } }],
    ['a coordinate that is a text', { ...trip, origin: { lat: '52', lon: 0 } }],
    ['no destination', { ...trip, destination: null }],
    ['a payment method that is a number', { ...trip, paymentMethod: 1 }],
  ])('with %s is refused, and its key is free afterwards', async (_what, body) => {
    const key = crypto.randomUUID()
    const refused = await ride(sandbox, { key }, body)
    expect(refused).toMatchObject({ status: 400, json: { error: { code: 'request_invalid' } } })
    expect(await stateOf(sandbox, key)).toBe('free')
    expect(await ride(sandbox, { key })).toMatchObject({ status: 201, json: { status: 'paid' } })
  })
})

test('killed in the middle of its charge, a ride is finished by the retry: one ride, one charge, one receipt', async () => {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 60_000 })
  const cut = ride(sandbox, { key: 'k' }).catch(() => 'cut off')
  await until(async () => expect(await charges(sandbox)).toHaveLength(1))
  const { pid } = await apiOf(sandbox)
  process.kill(pid, 'SIGKILL')
  expect(await cut).toBe('cut off')
  await untilRestarted(sandbox, pid)
  const finished = await retriedUntil(201, () => ride(sandbox, { key: 'k' }))
  const [charge, ...others] = await charges(sandbox)
  expect([charge?.object, charge?.amount, others]).toEqual([finished.json.chargeId, 2000, []])
  expect((await get(sandbox, '/rides')).json.rides).toHaveLength(1)
  await until(async () => expect(await ledger(sandbox, '?provider=notifier')).toHaveLength(1))
})

test('killed with nobody who retries, a ride is finished by the next process', async () => {
  const sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
  await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_before' })
  const cut = ride(sandbox, { key: 'k' }).catch(() => 'cut off')
  await until(async () => expect((await get(sandbox, '/rides')).json.rides).toMatchObject([{ status: 'created' }]))
  const { pid } = await apiOf(sandbox)
  process.kill(pid, 'SIGKILL')
  await cut
  await untilRestarted(sandbox, pid)
  await eventually(async () => expect((await get(sandbox, '/rides')).json.rides).toMatchObject([{ status: 'paid' }]))
  expect(await charges(sandbox)).toHaveLength(1)
})

test('without providers there is no ride, and no key is taken', async () => {
  const sandbox = await startSandbox()
  for (const path of ['/rides', '/notifications', '/sb/v1/withdraw'])
    expect(await postJson(sandbox, path, trip, { key: 'k' })).toMatchObject({
      status: 503,
      json: { code: 'providers_unavailable' },
    })
  expect((await get(sandbox, '/rides')).json).toEqual({ rides: [] })
})
