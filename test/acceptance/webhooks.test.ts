import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Engine, isHapaxError } from 'hapax'
import { expect, test } from 'vitest'
import { bounded, rejection } from '../support/waiting.js'
import { chargingGateway } from './support/charging-gateway.js'
import { inboxOf, secret } from './support/deliver.mjs'
import { type Ground, onEach } from './support/ground.js'
import { request, rides } from './support/rides.mjs'
import { testFile } from './support/test-file.js'
import { minutes, noon } from './support/times.js'

/** What providers send: signed, remembered with its work, processed once. Signatures are made by hand, as a provider does. */

const program = fileURLToPath(new URL('./support/deliver.mjs', import.meta.url))
const paid = '{"type":"payment.succeeded","reference":"dk_1"}'
const okOnce = { status: 200, body: '{"status":"ok"}' }
const okAgain = { status: 200, body: '{"status":"ok","duplicate":true}' }

function delivery({ id = 'evt_1', body = paid, by = secret, ageMs = 0 } = {}) {
  const timestamp = String(Math.floor((Date.now() - ageMs) / 1_000))
  const hmac = createHmac('sha256', Buffer.from(by.slice('whsec_'.length), 'base64'))
  const signature = hmac.update(`${id}.${timestamp}.${body}`).digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
  return { headers, body: Buffer.from(body) }
}

/** An inbox whose work is one row for each event. */
function paying(ground: Ground, hapax: Engine<unknown>, provider?: string, afterwards: () => void = () => {}) {
  return inboxOf(
    hapax,
    async ({ eventId, tx }) => {
      await ground.insert(tx, 'payments', eventId)
      afterwards()
    },
    provider,
  )
}

onEach((fresh) => {
  test('events are remembered by provider and id, with when they were processed, and the database refuses a second [S4-44]', async () => {
    const ground = await fresh()
    const { hapax } = await ground.node()
    for (const provider of ['airtm', 'trustless_work']) {
      expect(await paying(ground, hapax, provider).receive(delivery())).toMatchObject(okOnce)
    }
    const table = ground.name('webhook_events')
    const [first, second, ...others] = await ground.rows('webhook_events')
    expect([first, second].map((row) => [row?.provider, row?.event_id]).sort()).toEqual([
      ['airtm', 'evt_1'],
      ['trustless_work', 'evt_1'],
    ])
    expect(others).toEqual([])
    expect(Number(first?.processed_at)).toBe(noon)
    const again = `INSERT INTO ${table} SELECT * FROM ${table}`
    // A synchronous error of one database is a rejection of the other.
    await expect((async () => ground.sql(again))()).rejects.toThrow(/unique/i)
  })

  test('of twenty deliveries at once, to two nodes, one is processed; each answers 200 [S4-45 S4-46]', async () => {
    const ground = await fresh()
    const nodes = [(await ground.node()).hapax, (await ground.node()).hapax]
    let worked = 0
    const inboxes = nodes.map((hapax) => paying(ground, hapax, 'airtm', () => worked++))
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => inboxes[n % 2]?.receive(delivery()) ?? Promise.reject()),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(replies.filter(({ body }) => body === okOnce.body)).toHaveLength(1)
    expect(replies.filter(({ body }) => body === okAgain.body)).toHaveLength(19)
    expect(worked).toBe(1)
    expect(await ground.rows('payments')).toMatchObject([{ made_by: 'evt_1' }])
  })

  test('a delivery of a known event answers {"status":"ok","duplicate":true} with 200, and nothing runs [S4-46 S4-48]', async () => {
    const ground = await fresh()
    const { hapax } = await ground.node()
    await paying(ground, hapax).receive(delivery())
    const again = await paying(ground, hapax, 'airtm', () => expect.unreachable()).fetch(
      new Request('http://localhost/webhooks/airtm', { method: 'POST', ...delivery() }),
    )
    expect(again.status).toBe(200)
    expect(again.headers.get('content-type')).toBe('application/json')
    expect(await again.json()).toStrictEqual({ status: 'ok', duplicate: true })
    expect(await ground.rows('payments')).toHaveLength(1)
  })

  test('work that fails leaves no event and no row; the next delivery does it all [S4-47]', async () => {
    const ground = await fresh()
    const { hapax } = await ground.node()
    const failing = paying(ground, hapax, 'airtm', () => {
      throw new Error('the disk was full')
    })
    expect(await failing.receive(delivery())).toMatchObject({ status: 500 })
    expect(await ground.rows('webhook_events')).toEqual([])
    expect(await ground.rows('payments')).toEqual([])
    expect(await paying(ground, hapax).receive(delivery())).toMatchObject(okOnce)
    expect(await ground.rows('webhook_events')).toHaveLength(1)
    expect(await ground.rows('payments')).toHaveLength(1)
  })

  const other = `whsec_${Buffer.from('another secret of 24 byt').toString('base64')}`
  test.each([
    ['is forged', 'webhook_signature_invalid', () => delivery({ by: other })],
    ['was changed', 'webhook_signature_invalid', () => ({ ...delivery(), body: Buffer.from(`${paid} `) })],
    ['took the signature of another event', 'webhook_signature_invalid', () => stolen()],
    ['was recorded and sent again later', 'webhook_timestamp_refused', () => delivery({ ageMs: 6 * minutes })],
    ['comes from the future', 'webhook_timestamp_refused', () => delivery({ ageMs: -6 * minutes })],
  ])(
    'what %s is refused before the event is remembered, and takes no id from an honest one [X-25]',
    async (_, code, of) => {
      const ground = await fresh()
      const { hapax } = await ground.node()
      const airtm = paying(ground, hapax)
      // The table takes no row: whoever tried to insert first would fail for that.
      await ground.closeTable('webhook_events')
      const refused = await airtm.receive(of())
      expect([refused.status, JSON.parse(refused.body).code]).toEqual([401, code])
      expect((await airtm.receive(delivery())).status).toBe(503)
      expect(await ground.rows('payments')).toEqual([])
      await ground.reopenTable('webhook_events')
      expect(await airtm.receive(delivery())).toMatchObject(okOnce)
      expect(await airtm.receive(of())).toMatchObject({ status: 401 })
      expect(await ground.rows('payments')).toHaveLength(1)
    },
  )

  function stolen() {
    return { ...delivery(), headers: { ...delivery().headers, 'webhook-id': 'evt_2' } }
  }
})

test.each([
  ['inbox.inserted', 0, okOnce],
  ['inbox.committed', 1, okAgain],
] as const)(
  'a process that is killed at %s leaves %d rows, and a redelivery makes it one [S4-47 X-25]',
  async (point, left, reply) => {
    const file = await testFile()
    const { headers, body } = delivery()
    const given = JSON.stringify({ headers, body: body.toString() })
    const child = spawn(process.execPath, [program, file.path, given, point], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const [, signal] = await bounded(once(child, 'exit'), 'the process to be killed', 25_000)
    expect(signal).toBe('SIGKILL')
    const rows = () => file.sql('SELECT made_by FROM payments').length
    expect([rows(), file.sql('SELECT * FROM hapax_webhook_events').length]).toEqual([left, left])
    const { hapax } = file.node()
    const airtm = inboxOf(hapax, async ({ eventId, tx }) => {
      await tx.run({ sql: 'INSERT INTO payments (made_by) VALUES (?)', parameters: [eventId] })
    })
    expect(await airtm.receive({ headers, body })).toMatchObject(reply)
    expect(await airtm.receive({ headers, body })).toMatchObject(okAgain)
    expect(rows()).toBe(1)
  },
)

test.each([
  ['lands', 'landed', 'charge_created', 1],
  ['loses', 'not_landed', 'ride_created', 2],
] as const)(
  'a signed event ends the doubt about a charge that %s, by the key that it carried: nobody else is asked [S2-114]',
  async (does, says, recoveryPoint, sent) => {
    const file = await testFile()
    file.sql('CREATE TABLE rides (who TEXT NOT NULL) STRICT')
    file.sql('CREATE TABLE orders (who TEXT NOT NULL) STRICT')
    await file.setTime(noon)
    const gateway = await chargingGateway()
    gateway.does = does
    gateway.says = 'outage'
    const { hapax } = file.node()
    const operation = rides(hapax, gateway.url, 'can be asked')
    const ride = () => hapax.perform({ ...request, operation })
    expect(isHapaxError(await rejection(ride()), 'outcome_unknown')).toBe(true)
    gateway.does = 'answers'
    const airtm = inboxOf(hapax, ({ event, evidence }) => {
      const { type, reference } = event
      evidence({ downstreamKey: reference, says, why: type, ...(says === 'landed' && { result: { id: 'ch_1' } }) })
    })
    const [reference = ''] = gateway.asked
    const body = JSON.stringify({ type: says === 'landed' ? 'payment.succeeded' : 'payment.failed', reference })
    expect(await airtm.receive({ ...delivery({ body, by: secret.replace(/.$/, 'A') }) })).toMatchObject({ status: 401 })
    expect(file.row('k').status).toBe('unknown')
    expect(await airtm.receive(delivery({ body }))).toMatchObject(okOnce)
    // That nothing has landed is believed if it is said when nobody can be on the way any more; that it has, at once.
    if (says === 'not_landed') {
      expect(file.row('k').status).toBe('unknown')
      await file.setTime(noon + minutes)
      expect(await airtm.receive(delivery({ body, id: 'evt_later' }))).toMatchObject(okOnce)
    }
    expect(file.row('k')).toMatchObject({ status: 'failed_retryable', recovery_point: recoveryPoint })
    expect(JSON.parse(String(file.row('k').evidence))).toMatchObject([{ by: 'webhook:airtm', says }])
    expect(await ride()).toMatchObject({ value: { charge: { id: 'ch_1' } } })
    expect(file.row('k').status).toBe('completed')
    expect([gateway.asked.length, gateway.charges()]).toEqual([sent, 1])
  },
)
