import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  buyer,
  centsOf,
  disputedOrder,
  fault,
  get,
  order,
  orderAfter,
  post,
  topup,
  withdrawal,
} from '../sandbox/marketplace-client.js'
import { tell, until } from '../sandbox/providers-process.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** Which endpoints of the marketplace want a key, and what makes two requests with one key the same. */

const missing = { status: 400, json: { error: { code: 'IDEMPOTENCY_KEY_MISSING' } } }
const reused = {
  status: 409,
  json: {
    error: {
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: 'This idempotency key was used with a different request body',
    },
  },
}

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated' })
  })

  /** Wants a key, replays under it whatever else is in the body, and refuses it for another of what it is associated with. */
  async function expectAssociated(
    path: string,
    body: Record<string, unknown>,
    others: readonly object[],
  ): Promise<void> {
    expect(await post(sandbox, path, { key: 'none', body })).toMatchObject(missing)
    const key = randomUUID()
    const first = await post(sandbox, path, { key, body })
    expect(first.status).toBe(201)
    const again = await post(sandbox, path, { key, body: { note: 'on the way home', ...body } })
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true'])
    for (const other of others)
      expect([other, await post(sandbox, path, { key, body: { ...body, ...other } })]).toMatchObject([other, reused])
  }

  /** The same for what is named by its path alone. */
  async function expectByPath(path: (id: string) => string, ids: readonly [string, string], body?: object) {
    const [mine, another] = ids
    const sent = body === undefined ? {} : { body }
    expect(await post(sandbox, path(mine), { ...sent, key: 'none' })).toMatchObject(missing)
    const key = randomUUID()
    const first = await post(sandbox, path(mine), { ...sent, key })
    expect([200, 201]).toContain(first.status)
    const again = await post(sandbox, path(mine), { ...sent, key })
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
      first.status,
      first.text,
      'true',
    ])
    expect(await post(sandbox, path(another), { ...sent, key })).toMatchObject(reused)
    return { key, first }
  }

  describe('a key is required, and associated with', () => {
    test('marketplace, user, amount and currency of a top-up [S4-12]', async () => {
      await expectAssociated('/topups', topup, [{ user_id: 'usr_acme_bo' }, { amount: '25.0' }, { currency: 'EUR' }])
    })

    test('buyer, seller, amount, currency and the optional client_order_ref of an order [S4-13]', async () => {
      const others = [{ amount: '100.0' }, { currency: 'EUR' }, { client_order_ref: 'order-1' }]
      await expectAssociated('/orders', order, [...others, { buyer_id: order.seller_id, seller_id: order.buyer_id }])
      await expectAssociated('/orders', { ...order, client_order_ref: randomUUID() }, [{ client_order_ref: undefined }])
    })

    test('the order that is reserved [S4-14]', async () => {
      const ids = [await orderAfter(sandbox, 'none'), await orderAfter(sandbox, 'none')] as const
      await expectByPath((id) => `/orders/${id}/reserve`, ids)
    })

    test('the order whose escrow is created, or funded [S4-15 S4-16]', async () => {
      const ids = [await orderAfter(sandbox, 'reserve'), await orderAfter(sandbox, 'reserve')] as const
      await expectByPath((id) => `/orders/${id}/escrow`, ids)
      await post(sandbox, `/orders/${ids[1]}/escrow`)
      await expectByPath((id) => `/orders/${id}/escrow/fund`, ids)
    })

    test('the order that is released, or refunded [S4-17 S4-18]', async () => {
      for (const end of ['release', 'refund']) {
        const ids = [await orderAfter(sandbox, 'escrow/fund'), await orderAfter(sandbox, 'escrow/fund')] as const
        await expectByPath((id) => `/orders/${id}/${end}`, ids)
        expect((await get(sandbox, `/orders/${ids[1]}`)).json.status).toBe('ESCROW_FUNDED')
      }
    })

    test('the order that is disputed, and the dispute that is resolved, whatever the body says [S4-19 S4-20]', async () => {
      const ids = [await orderAfter(sandbox, 'escrow/fund'), await orderAfter(sandbox, 'escrow/fund')] as const
      const opened = await expectByPath((id) => `/orders/${id}/disputes`, ids, { reason: 'broken' })
      const path = `/orders/${ids[0]}/disputes`
      const inOtherWords = await post(sandbox, path, { key: opened.key, body: { reason: 'It is broken.' } })
      expect(inOtherWords.text).toBe(opened.first.text)

      const disputes = [(await disputedOrder(sandbox)).disputeId, (await disputedOrder(sandbox)).disputeId] as const
      const body = { decision: 'refund' }
      const resolved = await expectByPath((id) => `/disputes/${id}/resolve`, disputes, body)
      const otherwise = { key: resolved.key, body: { decision: 'release' } }
      expect((await post(sandbox, `/disputes/${disputes[0]}/resolve`, otherwise)).text).toBe(resolved.first.text)
    })

    test('user, amount, currency and destination.ref of a withdrawal, and nothing else of its destination [S4-21]', async () => {
      const others = [{ amount: '10.01' }, { currency: 'EUR' }, { user_id: 'usr_acme_bo' }]
      await expectAssociated('/withdrawals', withdrawal, [...others, { destination: { ref: 'acc_18' } }])
      const key = randomUUID()
      const first = await post(sandbox, '/withdrawals', { key, body: withdrawal })
      const body = { ...withdrawal, destination: { name: 'Ada', ref: 'acc_17' } }
      expect((await post(sandbox, '/withdrawals', { key, body })).text).toBe(first.text)
    })

    test('the withdrawal that is committed [S4-22]', async () => {
      const created = async () => String((await post(sandbox, '/withdrawals', { body: withdrawal })).json.id)
      await expectByPath((id) => `/withdrawals/${id}/commit`, [await created(), await created()])
    })
  })

  describe('no key is wanted', () => {
    async function sendEventsTo(url: string): Promise<void> {
      const body = { provider: 'airtm', urls: [url] }
      expect((await tell(sandbox.partners, 'PUT', '/_providers/webhooks', { body })).status).toBe(200)
    }

    const undelivered = async () => {
      const { deliveries } = (await tell(sandbox.partners, 'GET', '/_providers/deliveries?provider=airtm')).json
      return deliveries.filter(({ state }: { readonly state: string }) => state === 'pending')
    }

    test.for([
      ['a top-up', '/topups', topup, ['PENDING', 'CONFIRMED'], 2_500],
      ['a withdrawal', '/withdrawals', withdrawal, ['PROCESSING', 'COMPLETED'], -1_000],
    ] as const)(
      'to refresh %s, which asks Airtm each time, and books what it says once [S4-23 S4-24]',
      async (sample) => {
        const [, path, body, [open, final], change] = sample
        const before = await centsOf(sandbox, buyer)
        const refresh = async (id: unknown) => {
          const refreshed = await post(sandbox, `${path}/${id}/refresh`, { key: 'none' })
          expect([refreshed.status, refreshed.json.id]).toEqual([200, id])
          expect(refreshed.headers.get('idempotent-replayed')).toBeNull()
          return refreshed.json.status
        }
        // Nobody but a refresh says how it goes on: Airtm's own events go to nobody.
        await sendEventsTo('http://127.0.0.1:9/webhooks/airtm')
        const { id } = (await post(sandbox, path, { body })).json
        if (path === '/withdrawals') await post(sandbox, `${path}/${id}/commit`)
        expect((await get(sandbox, `${path}/${id}`)).json.status).toBe(open)
        // Where Airtm gives no answer there is none: the next one asks again.
        await fault(sandbox, { provider: 'airtm', operation: 'lookup', mode: 'reset', times: 2 })
        for (let times = 0; times < 2; times++)
          expect((await post(sandbox, `${path}/${id}/refresh`, { key: 'none' })).status).toBe(502)
        expect((await get(sandbox, `${path}/${id}`)).json.status).toBe(open)
        await until(async () => expect(await refresh(id)).toBe(final))
        expect((await get(sandbox, `${path}/${id}`)).json.status).toBe(final)
        expect([await refresh(id), await refresh(id)]).toEqual([final, final])
        expect((await centsOf(sandbox, buyer)) - before).toBe(change)
        // What Airtm had to say all the while changes nothing any more.
        await sendEventsTo(`${sandbox.url}/webhooks/airtm`)
        await until(async () => expect((await undelivered()).length).toBe(0))
        expect((await centsOf(sandbox, buyer)) - before).toBe(change)
      },
    )

    test('to read, and a key that is sent is not looked at [S4-25]', async () => {
      const key = randomUUID()
      const { disputeId, orderId } = await disputedOrder(sandbox)
      for (const path of ['/topups', '/orders', '/disputes', '/withdrawals', '/users', '/ledger'])
        expect([path, (await get(sandbox, path)).status]).toEqual([path, 200])
      for (const path of [
        `/orders/${orderId}`,
        `/orders/${orderId}/escrow`,
        `/orders/${orderId}/disputes`,
        `/disputes/${disputeId}`,
      ]) {
        const headers = { authorization: 'Bearer ohk_test_acme', 'idempotency-key': key }
        expect([path, (await fetch(sandbox.url + path, { headers })).status]).toEqual([path, 200])
      }
      expect(await sandbox.recordsOf(key)).toEqual([])
    })
  })

  describe('what is hashed', () => {
    /** The hash that is kept for a request. */
    async function hashOf(path: string, body: object): Promise<unknown> {
      const key = randomUUID()
      expect((await post(sandbox, path, { key, body })).status).toBe(201)
      return (await sandbox.recordOf(key)).request_fingerprint
    }

    test('of a top-up: user, amount and currency, each by itself, in any order [S4-32]', async () => {
      const hash = await hashOf('/topups', topup)
      expect(
        await hashOf('/topups', { currency: 'USD', channel: 'app', amount: '25.00', user_id: topup.user_id }),
      ).toBe(hash)
      const others = [{ amount: '25.0' }, { currency: 'EUR' }, { user_id: 'usr_acme_bo' }]
      const hashes = await Promise.all(others.map((other) => hashOf('/topups', { ...topup, ...other })))
      expect(new Set([hash, ...hashes]).size).toBe(4)
    })

    test('of an order: a client_order_ref that is absent is another than any that is there [S4-34]', async () => {
      const hash = await hashOf('/orders', order)
      expect(await hashOf('/orders', { ...order, note: 'x' })).toBe(hash)
      // "USD" and "1" beside each other are not "USD1".
      const ref = randomUUID()
      const named = await hashOf('/orders', { ...order, client_order_ref: ref })
      const joined = await hashOf('/orders', { ...order, client_order_ref: `1${ref}` })
      expect(new Set([hash, named, joined]).size).toBe(3)
      const empty = await post(sandbox, '/orders', { body: { ...order, client_order_ref: '' } })
      expect(empty).toMatchObject({ status: 400, json: { error: { code: 'REQUEST_INVALID' } } })
    })

    test('of a withdrawal: destination.ref, which lies within another member [S4-42]', async () => {
      const hash = await hashOf('/withdrawals', withdrawal)
      const same = { ...withdrawal, destination: { bank: 'First', ref: withdrawal.destination.ref } }
      expect(await hashOf('/withdrawals', same)).toBe(hash)
      expect(await hashOf('/withdrawals', { ...withdrawal, destination: { ref: 'acc_1' } })).not.toBe(hash)
      expect(await hashOf('/withdrawals', { ...withdrawal, ref: 'acc_1' })).toBe(hash)
    })
  })
})
