import { createHmac, randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import {
  buyer,
  centsOf,
  expectBalanced,
  get,
  orderAfter,
  payments,
  post,
  topup,
  untilStatus,
  withdrawal,
} from './marketplace-client.js'
import { tell, until } from './providers-process.js'
import type { SandboxProcess } from './sandbox-process.js'
import { startSupervised } from './supervised-sandbox.js'

/** What Airtm and Trustless Work say, signed by hand as they do it, is believed once. */

let sandbox: SandboxProcess
/** Where the providers are: only there it is said where their events go. */
let providers: { readonly url: string }
beforeAll(async () => {
  sandbox = await startSupervised()
  providers = { url: /^providers: (http:\S+),/m.exec(sandbox.printed.stderr)?.[1] ?? '' }
})
afterEach(async () => {
  await sendEventsTo([`${sandbox.url}/webhooks/airtm`])
  await expectBalanced(sandbox)
})

async function sendEventsTo(urls: readonly string[]): Promise<void> {
  const sent = await tell(providers, 'PUT', '/_providers/webhooks', { body: { provider: 'airtm', urls } })
  expect(sent.status).toBe(200)
}

/** Nobody takes its events meanwhile. */
const nowhere = ['http://127.0.0.1:9/webhooks/airtm']

const airtmSecret = Buffer.from('c2FuZGJveC1haXJ0bS13ZWJob29rLXNlY3JldA==', 'base64')
const ok = { status: 200, body: '{"status":"ok"}' }
const duplicate = { status: 200, body: '{"status":"ok","duplicate":true}' }

function seconds(): string {
  return String(Math.floor(Date.now() / 1_000))
}

function asAirtm(id: string, body: string, secret = airtmSecret, at = seconds()) {
  const signature = createHmac('sha256', secret).update(`${id}.${at}.${body}`).digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
  return delivered('/webhooks/airtm', headers, body)
}

function asTrustlessWork(body: string, secret = 'whsec_sandbox_trustless_work') {
  const at = seconds()
  const signature = createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')
  return delivered('/webhooks/trustless-work', { 'stripe-signature': `t=${at},v1=${signature}` }, body)
}

async function delivered(path: string, headers: Record<string, string>, body: string) {
  const type = { 'content-type': 'application/json' }
  const response = await fetch(sandbox.url + path, { method: 'POST', headers: { ...type, ...headers }, body })
  return { status: response.status, body: await response.text() }
}

/** What Airtm would say of a payin. */
function confirmed(id: string, reference: unknown): string {
  const object = { id: 'pin_1', object: 'payin', status: 'confirmed', reference, confirmation_uri: 'https://x.example' }
  return JSON.stringify({ id, type: 'payin.confirmed', data: { operation: 'payin', key: randomUUID(), object } })
}

test('of twenty deliveries of one event at once one is processed, and the user is credited once', async () => {
  await sendEventsTo(nowhere)
  const before = await centsOf(sandbox, buyer)
  const { id } = (await post(sandbox, '/topups', { body: topup })).json
  const event = `evt_${randomUUID()}`
  const body = confirmed(event, id)
  const replies = await Promise.all(Array.from({ length: 20 }, () => asAirtm(event, body)))
  expect(replies.filter((reply) => reply.body === ok.body)).toEqual([ok])
  expect(replies.filter((reply) => reply.body === duplicate.body)).toHaveLength(19)
  expect((await get(sandbox, `/topups/${id}`)).json.status).toBe('CONFIRMED')
  expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)

  // Another event that says the same changes nothing either.
  const another = `evt_${randomUUID()}`
  expect(await asAirtm(another, confirmed(another, id))).toEqual(ok)
  expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)
})

test('what is not signed, badly, or long ago, is a 401 and changes nothing', async () => {
  await sendEventsTo(nowhere)
  const { id } = (await post(sandbox, '/topups', { body: topup })).json
  const event = `evt_${randomUUID()}`
  const body = confirmed(event, id)
  const stranger = Buffer.from('another secret of 24 byte')
  const replies = [
    await asAirtm(event, body, stranger),
    await asAirtm(event, body, airtmSecret, String(Number(seconds()) - 3_600)),
    await delivered('/webhooks/airtm', {}, body),
    await delivered('/webhooks/airtm', {}, ''),
    await asTrustlessWork('{"id":"evt_1"}', 'whsec_another'),
    await delivered('/webhooks/trustless-work', {}, '{}'),
  ]
  expect(replies.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401])
  expect((await get(sandbox, `/topups/${id}`)).json.status).toBe('PENDING')
  expect(await asAirtm(event, body)).toEqual(ok)
  expect((await get(sandbox, `/topups/${id}`)).json.status).toBe('CONFIRMED')
})

test('an event of Trustless Work is a duplicate the second time, and moves no order by itself', async () => {
  const id = await orderAfter(sandbox, 'escrow/fund')
  const { escrow_id } = (await get(sandbox, `/orders/${id}`)).json
  const at = new Date().toISOString()
  const object = { id: 'esc_1', object: 'escrow', status: 'released', reference: escrow_id, updatedAt: at }
  const data = { operation: 'release', key: randomUUID(), object }
  const body = JSON.stringify({ id: `evt_${randomUUID()}`, type: 'escrow.released', data })
  expect([await asTrustlessWork(body), await asTrustlessWork(body)]).toEqual([ok, duplicate])
  expect((await get(sandbox, `/orders/${id}`)).json.status).toBe('ESCROW_FUNDED')
})

test('what makes no sense is a 400, and what is about nobody we know is taken and forgotten', async () => {
  for (const body of ['{', '[]', '{"type":7}', '{"type":"payin.confirmed","data":{"object":{}}}'])
    expect((await asAirtm(`evt_${randomUUID()}`, body)).status).toBe(400)
  const event = `evt_${randomUUID()}`
  expect(await asAirtm(event, confirmed(event, 'top_nobody'))).toEqual(ok)
})

test('every event that the partners send by themselves is taken at once', async () => {
  await orderAfter(sandbox, 'escrow/fund')
  await until(async () => {
    const { deliveries } = (await tell(sandbox, 'GET', '/_providers/deliveries?provider=trustless-work')).json
    expect(deliveries.length).toBeGreaterThan(1)
    for (const { state } of deliveries) expect(state).toBe('delivered')
  })
})

test('where no webhook comes, a refresh asks Airtm, and ten of them at once credit the user once', async () => {
  await sendEventsTo(nowhere)
  const before = await centsOf(sandbox, buyer)
  const { id } = (await post(sandbox, '/topups', { body: topup })).json
  const refresh = () => post(sandbox, `/topups/${id}/refresh`, { key: 'none' })
  for (const { status } of await Promise.all(Array.from({ length: 10 }, refresh))) expect(status).toBe(200)
  await until(async () => expect((await refresh()).json.status).toBe('CONFIRMED'))
  expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)
  await sendEventsTo([`${sandbox.url}/webhooks/airtm`])

  const out = (await post(sandbox, '/withdrawals', { body: withdrawal })).json.id
  await post(sandbox, `/withdrawals/${out}/commit`)
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => post(sandbox, `/withdrawals/${out}/refresh`, { key: 'none' })),
  )
  for (const { status } of answers) expect(status).toBe(200)
  await untilStatus(sandbox, `/withdrawals/${out}`, 'COMPLETED')
  expect(await payments(sandbox, out)).toHaveLength(1)
})
