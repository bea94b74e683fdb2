import { Webhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { expect, test } from 'vitest'
import { type ProvidersProcess, receiver, startProviders, tell, until } from './providers-process.js'

const airtmSecret = 'whsec_c2FuZGJveC1haXJ0bS13ZWJob29rLXNlY3JldA=='
const trustlessSecret = 'whsec_sandbox_trustless_work'
const payout = { amount: '5.00', currency: 'USD', destination: { ref: 'bank_1' } }

test.concurrent('a payout is pending, then completed, and its event is signed as Standard Webhooks say', async () => {
  const [providers, { url, received }] = await Promise.all([startProviders(), receiver()])
  await sendTo(providers, 'airtm', url)
  const { json } = await tell(providers, 'POST', '/airtm/payouts', { key: 'dk_1', body: payout })
  expect(json.status).toBe('pending')
  await until(async () => expect(await received).toHaveLength(1))
  const [{ headers, body } = { headers: {}, body: '' }] = received
  const event = new Webhook(airtmSecret).verify(body, headers as Record<string, string>)
  expect(event).toMatchObject({
    id: headers['webhook-id'],
    type: 'payout.completed',
    provider: 'airtm',
    data: { operation: 'payout', key: 'dk_1', object: { id: json.id, status: 'completed' } },
  })
  expect((await tell(providers, 'GET', `/airtm/payouts/${json.id}`)).json.status).toBe('completed')
  const failing = { ...payout, destination: { ref: 'fail_1' } }
  await tell(providers, 'POST', '/airtm/payouts', { key: 'dk_2', body: failing })
  await until(async () =>
    expect(await received.map(({ body }) => JSON.parse(body).type)).toEqual(['payout.completed', 'payout.failed']),
  )
})

test.concurrent('an escrow tells of each of its states, signed as Stripe does, even if its answer was lost', async () => {
  const [providers, { url, received }] = await Promise.all([startProviders(), receiver()])
  await sendTo(providers, 'trustless-work', url)
  const escrow = { amount: '100.00', currency: 'USD' }
  const { json } = await tell(providers, 'POST', '/trustless-work/escrows', { key: 'dk_1', body: escrow })
  await until(async () => expect(await received).toHaveLength(1))
  const fault = { provider: 'trustless-work', operation: 'fund', mode: 'timeout_after_effect' }
  await tell(providers, 'POST', '/_providers/faults', { body: fault })
  const signal = AbortSignal.timeout(1_500)
  const fund = tell(providers, 'POST', `/trustless-work/escrows/${json.id}/fund`, { key: 'dk_2', body: {}, signal })
  await expect(fund).rejects.toThrow()
  await until(async () => expect(await received).toHaveLength(2))
  const events = received.map(({ headers, body }) =>
    Stripe.webhooks.constructEvent(body, String(headers['stripe-signature']), trustlessSecret),
  )
  expect(events).toMatchObject([
    { type: 'escrow.created', data: { key: 'dk_1' } },
    { type: 'escrow.funded', data: { key: 'dk_2', object: { id: json.id } } },
  ])
})

test.concurrent('an event is delivered again until it is taken, and once more when it is asked for', async () => {
  const [providers, { url, received }] = await Promise.all([startProviders(), receiver([500, 404, 302])])
  await sendTo(providers, 'airtm', url)
  await tell(providers, 'POST', '/airtm/payouts', { body: payout })
  await until(async () => expect(await received).toHaveLength(4))
  const ids = () => new Set(received.map(({ headers }) => headers['webhook-id']))
  await until(async () => expect(await states(providers)).toEqual(['delivered']))
  const [event] = ids()
  expect((await tell(providers, 'POST', '/_providers/deliveries', { body: { event } })).status).toBe(202)
  await until(async () => expect(await received).toHaveLength(5))
  expect(ids().size).toBe(1)
  expect((await tell(providers, 'POST', '/_providers/deliveries', { body: { event: 'evt_none' } })).status).toBe(404)
})

test.concurrent('what was not delivered survives the death of the providers, and goes to where it should', async () => {
  const gone = await receiver()
  await gone.close()
  const first = await startProviders()
  await sendTo(first, 'airtm', gone.url)
  for (const key of ['a', 'b', 'c']) await tell(first, 'POST', '/airtm/payouts', { key, body: payout })
  await until(async () => expect(await states(first)).toEqual(['pending', 'pending', 'pending']))
  await first.stop('SIGKILL')

  // At its old address: where that is, they remember.
  const back = await receiver([], Number(new URL(gone.url).port))
  const second = await startProviders(first.dataDir)
  await until(async () => expect(await back.received).toHaveLength(3))
  expect(back.received.map(({ body }) => JSON.parse(body).data.key).sort()).toEqual(['a', 'b', 'c'])
  await until(async () => expect(await states(second)).toEqual(['delivered', 'delivered', 'delivered']))
  await second.stop('SIGTERM')
  const third = await startProviders(first.dataDir)
  expect(await states(third)).toEqual(['delivered', 'delivered', 'delivered'])
  expect(back.received).toHaveLength(3)
})

test.concurrent('until somebody says where to, events wait; a second address is tried when the first is not there', async () => {
  const [providers, there, gone] = await Promise.all([startProviders(), receiver(), receiver()])
  await gone.close()
  await tell(providers, 'POST', '/airtm/payouts', { body: payout })
  await until(async () => expect(await states(providers)).toEqual(['pending']))
  await sendTo(providers, 'airtm', gone.url)
  await tell(providers, 'POST', '/_providers/webhooks', { body: { provider: 'airtm', urls: [there.url] } })
  await until(async () => expect(await there.received).toHaveLength(1))
  for (const body of [
    { provider: 'card', urls: [there.url] },
    { provider: 'airtm', urls: ['ftp://127.0.0.1/'] },
    { provider: 'airtm' },
  ])
    expect((await tell(providers, 'PUT', '/_providers/webhooks', { body })).status).toBe(400)
})

async function sendTo(providers: ProvidersProcess, provider: string, url: string): Promise<void> {
  const { status } = await tell(providers, 'PUT', '/_providers/webhooks', { body: { provider, urls: [url] } })
  expect(status).toBe(200)
}

async function states(providers: ProvidersProcess): Promise<string[]> {
  const { json } = await tell(providers, 'GET', '/_providers/deliveries?provider=airtm')
  return json.deliveries.map(({ state }: { state: string }) => state)
}
