import { expect, test } from 'vitest'
import { ledger, startProviders, tell, until } from './providers-process.js'

const ride = { amountCents: 2000, currency: 'usd' }
const soon = () => AbortSignal.timeout(1_500)

for (const { mode, effects, ends } of [
  { mode: 'timeout_before', effects: 0, ends: 'TimeoutError' },
  { mode: 'timeout_after_effect', effects: 1, ends: 'TimeoutError' },
  { mode: 'reset', effects: 0, ends: 'TypeError' },
  { mode: 'error_500_after_effect', effects: 1, ends: 500 },
  { mode: 'decline', effects: 0, ends: 402 },
])
  test.concurrent(`${mode}: the caller meets ${ends}, the ledger has ${effects}, and the request after it is served`, async () => {
    const card = await startProviders()
    const fault = { provider: 'card', operation: 'charge', mode }
    expect(await tell(card, 'POST', '/_providers/faults', { body: fault })).toMatchObject({
      status: 201,
      json: { ...fault, times: 1 },
    })
    const charge = () => tell(card, 'POST', '/card/charges', { key: 'k', body: ride, signal: soon() })
    const met = await charge().then(
      ({ status }) => status,
      ({ name }: Error) => name,
    )
    expect(met).toBe(ends)
    expect(await ledger(card)).toHaveLength(effects)
    expect((await tell(card, 'GET', '/card/calls?key=k')).json.found).toBe(effects === 1)
    const again = await tell(card, 'POST', '/card/charges', { key: 'k', body: ride })
    // A decline is an answer, and stays the answer of its key.
    expect([again.status, again.isReplay]).toEqual(mode === 'decline' ? [402, false] : [201, effects === 1])
    expect((await tell(card, 'POST', '/card/charges', { key: 'other', body: ride })).status).toBe(201)
    expect(await ledger(card)).toHaveLength(mode === 'decline' ? 1 : 2)
  })

test.concurrent('slow: the effect is there before the answer, which comes after its time', async () => {
  const card = await startProviders()
  await tell(card, 'POST', '/_providers/faults', {
    body: { provider: 'card', operation: 'charge', mode: 'slow', ms: 1_000 },
  })
  const startedAt = performance.now()
  const slow = tell(card, 'POST', '/card/charges', { key: 'k', body: ride })
  await until(async () => expect(await ledger(card)).toHaveLength(1))
  expect((await slow).status).toBe(201)
  expect(performance.now() - startedAt).toBeGreaterThan(950)
})

test.concurrent('a fault is used up as often as it says, in the order of adding, and not by other operations', async () => {
  const card = await startProviders()
  const add = (body: object) => tell(card, 'POST', '/_providers/faults', { body: { provider: 'card', ...body } })
  await add({ operation: 'charge', mode: 'decline', times: 2 })
  await add({ operation: 'charge', mode: 'error_500_after_effect', times: 1 })
  await add({ operation: 'lookup', mode: 'error_500_after_effect', times: 1 })
  const statuses: number[] = []
  for (const key of ['a', 'b', 'c', 'd'])
    statuses.push((await tell(card, 'POST', '/card/charges', { key, body: ride })).status)
  expect(statuses).toEqual([402, 402, 500, 201])
  const open = await tell(card, 'GET', '/_providers/faults')
  expect(open.json.faults).toEqual([
    { provider: 'card', operation: 'lookup', mode: 'error_500_after_effect', times: 1 },
  ])
  expect((await tell(card, 'GET', '/card/calls?key=d')).status).toBe(500)
  expect((await tell(card, 'GET', '/card/calls?key=d')).json.found).toBe(true)
  await add({ operation: 'charge', mode: 'reset', times: 1000 })
  expect((await tell(card, 'DELETE', '/_providers/faults?provider=airtm')).json).toEqual({ cleared: 0 })
  expect((await tell(card, 'DELETE', '/_providers/faults')).json).toEqual({ cleared: 1 })
  expect((await tell(card, 'POST', '/card/charges', { key: 'e', body: ride })).status).toBe(201)
})

test.concurrent('a fault that makes no sense is refused, and the field is named', async () => {
  const card = await startProviders()
  const good = { provider: 'card', operation: 'charge', mode: 'slow', times: 1, ms: 1 }
  for (const [field, values] of Object.entries({
    provider: ['paypal', undefined, 1],
    operation: ['payout', '', null],
    mode: ['explode', undefined],
    times: [0, -1, 1.5, '1', 1001, true],
    ms: [0, 60_001, '5'],
  })) {
    for (const value of values) {
      const { status, json } = await tell(card, 'POST', '/_providers/faults', { body: { ...good, [field]: value } })
      expect([value, status, json.error.code, json.error.field]).toEqual([value, 400, 'fault_invalid', field])
    }
  }
  expect((await tell(card, 'GET', '/_providers/faults')).json).toEqual({ faults: [] })
})
