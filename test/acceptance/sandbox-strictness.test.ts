import { createHash, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { withdraw } from '../sandbox/bank-client.js'
import { order, post } from '../sandbox/marketplace-client.js'
import { type Answer, acme, ask, pay, post as postPayment, tea } from '../sandbox/payment-client.js'
import { ledger } from '../sandbox/providers-process.js'
import { eventually, get, isReplay, stateOf } from '../sandbox/sandbox-client.js'
import type { Api } from '../sandbox/sandbox-process.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { days, hours } from './support/times.js'

/** What an API may ask of its clients beyond a key: the sandbox does so where its settings say it, and publishes it. */

onBothDatabases((start) => {
  describe('where messages are compared by their digest, and keys must be hard to guess', () => {
    let sandbox: BlackBox
    beforeAll(async () => {
      const env = { SANDBOX_BANK_COMPARES: 'digest', SANDBOX_KEYS: 'unguessable' }
      sandbox = await start({ providers: 'simulated', env })
    })

    test('the bank may go by the digest of a message: under a known key another digest is another request [S0-25]', async () => {
      const key = randomUUID()
      const [mine, dearer] = ['amount=2000&currency=usd&customer=c', 'amount=9000&currency=usd&customer=c']
      const first = await withdraw(sandbox, { key, form: mine, digest: digestOf(mine) })
      const retry = await withdraw(sandbox, { key, form: mine, digest: digestOf(mine) })
      expect([first.status, retry.status, isReplay(retry)]).toEqual([201, 201, true])
      expect(retry.json.id).toBe(first.json.id)

      const changed = await withdraw(sandbox, { key, form: dearer, digest: digestOf(dearer) })
      expect(seen(changed)).toBe('422 idempotency_key_reused_with_different_payload')
      // Nobody gets by with the digest of another body, nor with none.
      expect(seen(await withdraw(sandbox, { key, form: dearer, digest: digestOf(mine) }))).toBe('400 digest_mismatch')
      expect(seen(await withdraw(sandbox, { key, form: mine }))).toBe('400 fingerprint_header_missing')
      expect((await routeOf(sandbox, 'bank.withdraw')).compared).toMatchObject({
        by: 'header',
        header: 'Content-Digest',
      })

      await eventually(async () => expect(await ledger(sandbox, '?provider=bank')).toHaveLength(1))
      expect(await ledger(sandbox, '?provider=bank')).toMatchObject([{ reference: first.json.id, amount: 2000 }])
      expect(await sandbox.recordsOf(key)).toHaveLength(1)
    })

    test('keys that anybody could hit on are refused where it was asked for better ones, on every system [S2-050]', async () => {
      const body = tea()
      const guessed = ['1', 'test', 'order-17', '2026-01-01', 'k'.repeat(40), '00000000-0000-0000-0000-000000000000']
      for (const key of guessed) {
        expect([key, seen(await pay(sandbox, { key, body }))]).toEqual([key, '400 idempotency_key_malformed'])
        expect([key, seen(await post(sandbox, '/orders', { key, body: order }))]).toEqual([
          key,
          '400 IDEMPOTENCY_KEY_MALFORMED',
        ])
        expect(await sandbox.recordsOf(key)).toEqual([])
      }
      expect(await sandbox.paymentsOf(body)).toEqual([])
      expect((await pay(sandbox, { key: randomUUID(), body })).status).toBe(201)
      const created = await post(sandbox, '/orders', { key: randomUUID(), body: order })
      expect(created.status).toBe(201)
      // What is wrong with a key comes before what is wrong with the order: nothing of this one can be released.
      const release = (key: string) => post(sandbox, `/orders/${created.json.id}/release`, { key })
      expect(seen(await release('test'))).toBe('400 IDEMPOTENCY_KEY_MALFORMED')
      expect(seen(await release(randomUUID()))).toBe('409 ORDER_STATE_INVALID')
      expect((await routeOf(sandbox, 'payments.create')).key.min_variety).toBe(8)
    })
  })

  describe('where keys are UUIDs, and each belongs to one token', () => {
    let sandbox: BlackBox
    beforeAll(async () => {
      sandbox = await start({ env: { SANDBOX_KEYS: 'uuid', SANDBOX_KEY_OWNER: 'credential' } })
    })

    test('where the marketplace takes UUIDs alone, 36 characters with dashes, any other key is a 400 [S4-04]', async () => {
      const key = randomUUID()
      const wrong = [key.replaceAll('-', ''), key.slice(1), `${key}0`, `g${key.slice(1)}`, 'abc-123', 'my-static-key']
      for (const sent of wrong)
        expect([sent, seen(await post(sandbox, '/orders', { key: sent, body: order }))]).toEqual([
          sent,
          '400 IDEMPOTENCY_KEY_MALFORMED',
        ])
      expect((await get(sandbox, '/orders')).json.orders).toEqual([])
      expect(key).toHaveLength(36)
      const first = await post(sandbox, '/orders', { key, body: order })
      expect([first.status, isReplay(first)]).toEqual([201, false])
      expect(isReplay(await post(sandbox, '/orders', { key, body: order }))).toBe(true)
      expect((await routeOf(sandbox, 'orders.create')).key.format?.pattern).toContain('[0-9a-f]{8}-')
    })

    test('a key may belong to the token that it came with: to the second token of its tenant it is another [S1-082]', async () => {
      const [shop, office] = [acme, { authorization: 'Bearer ohk_test_acme_2' }]
      const attempt = { key: randomUUID(), body: tea() }
      const one = await pay(sandbox, { ...attempt, tenant: shop })
      expect(await stateOf(sandbox, attempt.key, office)).toBe('free')
      const other = await pay(sandbox, { ...attempt, tenant: office })
      expect([one.status, other.status, isReplay(other)]).toEqual([201, 201, false])
      expect((await sandbox.paymentsOf(attempt.body)).sort()).toEqual([one.json.id, other.json.id].sort())
      for (const [tenant, { text }] of [
        [shop, one],
        [office, other],
      ] as const) {
        const again = await pay(sandbox, { ...attempt, tenant })
        expect([again.text, isReplay(again)]).toEqual([text, true])
        expect(await stateOf(sandbox, attempt.key, tenant)).toBe('completed')
      }
      const scopes = (await sandbox.recordsOf(attempt.key)).map(({ scope_id }) => String(scope_id)).sort()
      expect(scopes).toEqual(['acme;credential=acme-1', 'acme;credential=acme-2'])
      expect((await get(sandbox, '/idempotency/policy')).json.scoped_by).toBe('tenant and credential')

      // It is a choice: where a key is its tenant's, a retry may come with the other token.
      const usual = await sandbox.another()
      const retried = { key: randomUUID(), body: tea() }
      const first = await pay(usual, { ...retried, tenant: shop })
      const again = await pay(usual, { ...retried, tenant: office })
      expect([again.text, isReplay(again)]).toEqual([first.text, true])
    })
  })

  describe('where payments have the profile "boundary", and say when they were first sent', () => {
    let sandbox: BlackBox
    beforeAll(async () => {
      sandbox = await start({ env: { SANDBOX_PAYMENTS_PROFILE: 'boundary', SANDBOX_FIRST_SENT: 'required' } })
    })
    const sentAgo = (ms: number) => ({ 'repeatability-first-sent': new Date(Date.now() - ms).toUTCString() })
    const send = (key: string, body: object, firstSent: Record<string, string> = sentAgo(0)) =>
      postPayment(sandbox, JSON.stringify(body), { ...acme, 'idempotency-key': key, ...firstSent })

    test('a payment that was first sent longer ago than answers are kept is 412, and nothing of it is left [S1-081]', async () => {
      const [key, body] = [randomUUID(), tea()]
      const sentThen = (firstSent: Record<string, string>) => send(key, body, firstSent)
      expect(seen(await sentThen(sentAgo(2 * days)))).toBe('412 request_not_fresh')
      expect(seen(await sentThen(sentAgo(400 * days)))).toBe('412 request_not_fresh')
      expect(seen(await sentThen(sentAgo(-hours)))).toBe('412 request_not_fresh')
      expect(seen(await sentThen({}))).toBe('400 first_sent_invalid')
      expect(seen(await sentThen({ 'repeatability-first-sent': 'the other day' }))).toBe('400 first_sent_invalid')
      expect([await sandbox.recordsOf(key), await sandbox.paymentsOf(body)]).toEqual([[], []])
      expect((await routeOf(sandbox, 'payments.create')).freshness?.header).toBe('Repeatability-First-Sent')

      const first = await sentThen(sentAgo(47 * hours))
      expect([first.status, isReplay(first)]).toEqual([201, false])
      // A key that is known has its answer, whatever its retry says of itself.
      const known = await sentThen(sentAgo(2 * days))
      expect([known.text, isReplay(known)]).toEqual([first.text, true])
      expect(await sandbox.paymentsOf(body)).toHaveLength(1)
    })

    test('under the profile "boundary" fifteen characters are too few for a key, blanks not counted, and sixteen are enough [S2-035]', async () => {
      const body = tea()
      const short = 'order-17-line-03'.slice(0, 15)
      for (const key of ['1', short, `  ${short}  `, `"${short}"`])
        expect(seen(await send(key, body))).toBe('400 idempotency_key_malformed')
      expect([await sandbox.recordsOf(short), await sandbox.paymentsOf(body)]).toEqual([[], []])
      const first = await send(`  ${short}3  `, body)
      const again = await send(`${short}3`, body)
      expect([first.status, again.text, isReplay(again)]).toEqual([201, first.text, true])
      expect(await routeOf(sandbox, 'payments.create')).toMatchObject({ profile: 'boundary', key: { min_length: 16 } })
    })
  })
})

function digestOf(body: string): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`
}

/** The status, and the code in whichever shape the system has. */
function seen({ status, json }: Answer): string {
  const { code } = (json.error ?? json) as { readonly code?: string }
  return `${status} ${code}`
}

interface Route {
  readonly name: string
  readonly profile: string
  readonly key: { readonly min_variety?: number; readonly format?: { readonly pattern: string } }
  readonly compared: object
  readonly freshness?: { readonly header?: string }
}

async function routeOf(sandbox: Api, name: string): Promise<Route> {
  const { json } = await ask(sandbox, '/idempotency/policy')
  const route = (json.routes as readonly Route[]).find((one) => one.name === name)
  if (route === undefined) throw new Error(`${name} is not published`)
  return route
}
