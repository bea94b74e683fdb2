import { beforeAll, describe, expect, test } from 'vitest'
import { onPostgres } from '../support/on-postgres.js'
import { acme, ask, globex, pay, tea } from './payment-client.js'
import { postgresTestDatabase } from './postgres-test-database.js'
import { ledger, startProviders, tell } from './providers-process.js'
import { eventually, fault, get, isReplay, retriedUntil, stateOf } from './sandbox-client.js'
import type { SandboxProcess } from './sandbox-process.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'

const lease = { SANDBOX_LEASE_SECONDS: '3' }
const chargesFor = async (sandbox: SandboxProcess, id: unknown) =>
  (await ledger(sandbox, '?provider=card&operation=charge')).filter(({ reference }) => reference === id)

describe('a payment with a card processor', () => {
  let sandbox: SandboxProcess
  beforeAll(async () => {
    sandbox = await startSupervised({ env: lease })
  })

  test('is charged once, under a downstream key, and shown as it was answered', async () => {
    const first = await pay(sandbox, { key: 'once' })
    expect(first).toMatchObject({ status: 201, json: { amountCents: 450, status: 'succeeded' } })
    const again = await pay(sandbox, { key: 'once' })
    expect([again.status, again.text, isReplay(again)]).toEqual([201, first.text, true])
    const [charge, ...others] = await chargesFor(sandbox, first.json.id)
    expect([charge?.amount, charge?.key, others]).toEqual([450, expect.stringMatching(/^[0-9a-f-]{36}$/), []])
    expect((await get(sandbox, `/payments/${first.json.id}`)).text).toBe(first.text)
    expect((await get(sandbox, `/payments/${first.json.id}`, globex)).status).toBe(404)
  })

  test('is in the list of its tenant, in pages, the last one first', async () => {
    const ids = []
    for (let number = 0; number < 3; number++) ids.unshift((await pay(sandbox, { tenant: globex })).json.id)
    const { json: page } = await get(sandbox, '/payments?limit=2', globex)
    const { json: rest } = await get(sandbox, `/payments?limit=2&after=${page.next}`, globex)
    const listed = [page, rest].flatMap(({ payments }) => payments as { id: unknown }[])
    expect(listed.map(({ id }) => id)).toEqual(ids)
    expect(rest.next).toBeUndefined()
    for (const query of ['limit=0', 'limit=x', 'limit=201', 'after=%20'])
      expect(await get(sandbox, `/payments?${query}`)).toMatchObject({ status: 400, json: { code: 'request_invalid' } })
  })

  test('that is declined is answered with 402, now and later, and nobody is charged', async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'decline' })
    const first = await pay(sandbox, { key: 'declined' })
    expect(first).toMatchObject({ status: 402, json: { code: 'card_declined', retryable: false } })
    expect(first.headers.get('content-type')).toBe('application/problem+json')
    const again = await pay(sandbox, { key: 'declined' })
    expect([again.status, again.text, isReplay(again)]).toEqual([402, first.text, true])
    const [id] = /pay_[\w-]+/.exec(first.text) ?? []
    expect((await get(sandbox, `/payments/${id}`)).json.status).toBe('declined')
    expect(await chargesFor(sandbox, id)).toEqual([])
  })

  test('that is slow is only slow', async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 400 })
    expect(await pay(sandbox)).toMatchObject({ status: 201, json: { status: 'succeeded' } })
  })

  for (const honours of ['honours keys', 'honours none'] as const)
    for (const mode of ['timeout_before', 'timeout_after_effect', 'error_500_after_effect', 'reset'])
      test(`${mode} leaves it unknown, until the lookup has settled it; charged once where the processor ${honours}`, async () => {
        const key = crypto.randomUUID()
        const honoursKeys = honours === 'honours keys'
        await tell(sandbox, 'PUT', '/_providers/settings', { body: { provider: 'card', honoursKeys } })
        // Nobody can find out meanwhile.
        await fault(sandbox, { provider: 'card', operation: 'lookup', mode: 'reset' })
        await fault(sandbox, { provider: 'card', operation: 'charge', mode })
        const first = await pay(sandbox, { key })
        expect(first).toMatchObject({ status: 409, json: { code: 'outcome_unknown', retryable: true } })
        expect(first.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
        await tell(sandbox, 'DELETE', '/_providers/faults')
        const settled = await retriedUntil(201, () => pay(sandbox, { key }))
        expect(settled.json.status).toBe('succeeded')
        expect(await chargesFor(sandbox, settled.json.id)).toHaveLength(1)
        expect((await pay(sandbox, { key })).text).toBe(settled.text)
      })

  test('that nobody retries is settled all the same', async () => {
    await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
    const { status } = await pay(sandbox, { key: 'gone', body: tea() })
    expect(status).toBe(409)
    const settled = async () =>
      expect((await get(sandbox, '/payments?limit=1')).json.payments).toMatchObject([{ status: 'succeeded' }])
    await eventually(settled)
    expect(await stateOf(sandbox, 'gone')).toBe('completed')
  })

  test('that is not valid charges nobody, and its key is free afterwards', async () => {
    const before = await ledger(sandbox)
    for (const body of [
      [],
      { ...tea(), amountCents: -1 },
      { ...tea(), amountCents: 1e300 },
      { ...tea(), currency: 'X' },
    ])
      expect(await pay(sandbox, { key: 'bad', body })).toMatchObject({ status: 400, json: { code: 'request_invalid' } })
    expect(await ledger(sandbox)).toEqual(before)
    expect(await stateOf(sandbox, 'bad')).toBe('free')
    expect((await pay(sandbox, { key: 'bad' })).status).toBe(201)
  })
})

test('killed while the processor charges, a payment is unknown, is asked about, and is charged once', async () => {
  const sandbox = await startSupervised({ env: lease })
  await fault(sandbox, { provider: 'card', operation: 'charge', mode: 'slow', ms: 60_000 })
  const cut = pay(sandbox, { key: 'k' }).catch(() => 'cut off')
  await eventually(async () => expect(await ledger(sandbox, '?provider=card')).toHaveLength(1))
  const { pid } = await apiOf(sandbox)
  process.kill(pid, 'SIGKILL')
  expect(await cut).toBe('cut off')
  await untilRestarted(sandbox, pid)
  const settled = await retriedUntil(201, () => pay(sandbox, { key: 'k' }))
  expect(await ledger(sandbox, '?provider=card')).toMatchObject([{ reference: settled.json.id }])
  expect((await ask(sandbox, '/payments', { headers: acme })).json.payments).toHaveLength(1)
})

test('while the processor is away nothing is sent, and the key may be tried again', async () => {
  const providers = await startProviders()
  const sandbox = await startSupervised({ env: { ...lease, HAPAX_PROVIDERS_URL: providers.url } })
  await providers.stop('SIGKILL')
  const first = await pay(sandbox, { key: 'k' })
  expect(first).toMatchObject({ status: 502, json: { code: 'provider_failed', retryable: true } })
  // Unless the resumer is just trying it again.
  await eventually(async () => expect(await stateOf(sandbox, 'k')).toBe('failed_retryable'))
})

onPostgres('on PostgreSQL', () => {
  test('two nodes share the work: what one leaves unknown the other may settle, and it is charged once', async () => {
    const { url } = await postgresTestDatabase()
    const providers = await startProviders()
    const env = { ...lease, DATABASE_URL: url, HAPAX_PROVIDERS_URL: providers.url }
    const [a, b] = [await startSupervised({ env }), await startSupervised({ env })]
    await fault(a, { provider: 'card', operation: 'charge', mode: 'timeout_after_effect' })
    expect((await pay(a, { key: 'k' })).json.code).toBe('outcome_unknown')
    expect(await a.stop('SIGTERM')).toBe(0)
    const settled = await retriedUntil(201, () => pay(b, { key: 'k' }))
    expect(await ledger(b, '?provider=card')).toMatchObject([{ reference: settled.json.id }])
  })
})
