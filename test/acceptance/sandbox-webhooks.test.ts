import { createHmac, randomUUID } from 'node:crypto'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { buyer, centsOf, expectBalanced, fault, get, payments, post, topup } from '../sandbox/marketplace-client.js'
import { tell } from '../sandbox/providers-process.js'
import { eventually, postJson, retriedUntil, stateOf, trip } from '../sandbox/sandbox-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** What a partner says, signed by hand as it does it, is believed once, and settles what nobody else could know. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated', env: { SANDBOX_LEASE_SECONDS: '3' } })
  })
  afterEach(() => expectBalanced(sandbox))

  /** Its own events go to nobody, so that only ours come. */
  const silenced = () => sendEventsTo('http://127.0.0.1:9/webhooks/airtm')

  async function sendEventsTo(url: string): Promise<void> {
    const body = { provider: 'airtm', urls: [url] }
    expect((await tell(sandbox.partners, 'PUT', '/_providers/webhooks', { body })).status).toBe(200)
  }

  /** What Airtm says of a payin, under the key that it was asked with. */
  async function confirm(reference: unknown, key: unknown, event: string) {
    const object = {
      id: 'pin_1',
      object: 'payin',
      status: 'confirmed',
      reference,
      confirmation_uri: 'https://x.example',
    }
    const body = JSON.stringify({ id: event, type: 'payin.confirmed', data: { operation: 'payin', key, object } })
    const at = String(Math.floor(Date.now() / 1_000))
    const secret = Buffer.from('c2FuZGJveC1haXJ0bS13ZWJob29rLXNlY3JldA==', 'base64')
    const signature = createHmac('sha256', secret).update(`${event}.${at}.${body}`).digest('base64')
    const signed = { 'webhook-id': event, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` }
    const headers = { 'content-type': 'application/json', ...signed }
    const response = await fetch(`${sandbox.url}/webhooks/airtm`, { method: 'POST', headers, body })
    return [response.status, await response.text()]
  }

  test('a delivery that came before is answered 200 with {"status":"ok","duplicate":true}, and credits nobody [S4-46 S4-48]', async () => {
    await silenced()
    const before = await centsOf(sandbox, buyer)
    const { id } = (await post(sandbox, '/topups', { body: topup })).json
    const event = `evt_${randomUUID()}`
    expect(await confirm(id, randomUUID(), event)).toEqual([200, '{"status":"ok"}'])
    for (let time = 0; time < 3; time++)
      expect(await confirm(id, randomUUID(), event)).toEqual([200, '{"status":"ok","duplicate":true}'])
    expect((await get(sandbox, `/topups/${id}`)).json.status).toBe('CONFIRMED')
    expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)
  })

  test('a top-up that nobody knows the end of is finished by a signed webhook that names its key at Airtm [S2-114]', async () => {
    await silenced()
    await fault(sandbox, { provider: 'airtm', operation: 'payin', mode: 'timeout_after_effect' })
    await fault(sandbox, { provider: 'airtm', operation: 'lookup', mode: 'reset', times: 1_000 })
    const [key, before] = [randomUUID(), await centsOf(sandbox, buyer)]
    expect((await post(sandbox, '/topups', { key, body: topup })).status).toBe(409)
    expect(await stateOf(sandbox, key)).toBe('unknown')
    const entries = (await tell(sandbox, 'GET', '/_providers/ledger?provider=airtm')).json.entries
    const { reference, key: downstream } = entries.at(-1)
    expect(await confirm(reference, downstream, `evt_${randomUUID()}`)).toEqual([200, '{"status":"ok"}'])
    const { json } = await retriedUntil(201, () => post(sandbox, '/topups', { key, body: topup }))
    expect([json.topup_id, await stateOf(sandbox, key)]).toEqual([reference, 'completed'])
    expect(await payments(sandbox, reference)).toHaveLength(1)
    expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)
    await tell(sandbox, 'DELETE', '/_providers/faults')
  })

  test('one database is enough for everything: keys, calls, effects, webhooks and the rows of the business [S3-50]', async () => {
    await sendEventsTo(`${sandbox.url}/webhooks/airtm`)
    const ride = await postJson(sandbox, '/rides', trip)
    const { id } = (await post(sandbox, '/topups', { body: topup })).json
    await eventually(async () => expect((await get(sandbox, `/rides/${ride.json.id}`)).json.receipt).toBe('sent'))
    await eventually(async () => expect((await get(sandbox, `/topups/${id}`)).json.status).toBe('CONFIRMED'))
    const tables = ['records', 'calls', 'effects', 'webhook_events'].map((name) => `{hapax}${name}`)
    for (const table of [...tables, '{sandbox}rides', '{sandbox}topups', '{sandbox}entries'])
      expect([table, (await sandbox.sql(`SELECT 1 FROM ${table}`)).length > 0]).toEqual([table, true])
  })
})
