import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { pay, tea } from '../sandbox/payment-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** What is a payment, and that what is none leaves its key as it was. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start()
  })

  describe('a payment', () => {
    test('names a customer, whole cents and a currency, and is created with 201 [S2-017]', async () => {
      for (const currency of ['KRW', 'USD']) {
        const created = await pay(sandbox, { body: { ...tea(), amountCents: 1200, currency } })
        expect(created).toMatchObject({ status: 201, json: { amountCents: 1200, currency, status: 'created' } })
      }
      await expectRefused({ ...tea(), currency: 'BTC' })
    })

    test('without a customer is refused, and its key stays new [S2-036 S2-040]', async () => {
      for (const customerId of ['', '   ', undefined, null, 7]) await expectRefused({ ...tea(), customerId })
    })

    test('of less than one cent, or of half a one, is refused, and its key stays new [S2-037]', async () => {
      for (const amountCents of [0, -1, 1.5, '450', null]) await expectRefused({ ...tea(), amountCents })
    })
  })

  /** 400 without a record, and the same key then serves a good request. */
  async function expectRefused(body: Readonly<Record<string, unknown>>): Promise<void> {
    const key = randomUUID()
    const refused = await pay(sandbox, { key, body })
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 400, json: { code: 'request_invalid' } })
    expect(await sandbox.recordsOf(key)).toEqual([])
    const accepted = await pay(sandbox, { key, body: tea() })
    expect([accepted.status, accepted.headers.get('idempotent-replayed')]).toEqual([201, null])
  }
})
