import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { recordsOf } from './database.js'
import {
  balanceOf,
  buyer,
  centsOf,
  escrowCalls,
  expectBalanced,
  fault,
  get,
  orderAfter,
  payments,
  post,
  type Sent,
  seller,
  topup,
  untilStatus,
  withdrawal,
} from './marketplace-client.js'
import type { Answer } from './payment-client.js'
import { ledger, tell } from './providers-process.js'
import type { SandboxProcess } from './sandbox-process.js'
import { apiOf, startSupervised, untilRestarted } from './supervised-sandbox.js'

/** Partners that do not answer, and an API that is killed: what was asked for is done once, and the retry hears of it. */

let sandbox: SandboxProcess
beforeAll(async () => {
  // So that a call gives up after two seconds.
  sandbox = await startSupervised({ env: { SANDBOX_LEASE_SECONDS: '3' } })
})
afterEach(async () => {
  await tell(sandbox, 'DELETE', '/_providers/faults')
  await expectBalanced(sandbox)
})

/** Sends the same until it is answered, as a client does that was told to come back. */
function untilAnswered(path: string, sent: Sent): Promise<Answer> {
  const retry = async () => {
    const answer = await post(sandbox, path, sent)
    expect([answer.text, answer.status < 300]).toEqual([answer.text, true])
    return answer
  }
  return vi.waitFor(retry, { timeout: 20_000, interval: 200 })
}

describe('Trustless Work, which honours keys', () => {
  test('turns escrows down that came together: nobody is told of one that is not there', async () => {
    const id = await orderAfter(sandbox, 'reserve')
    await fault(sandbox, { provider: 'trustless-work', operation: 'create', mode: 'decline', times: 6 })
    const answers = await Promise.all(Array.from({ length: 6 }, () => post(sandbox, `/orders/${id}/escrow`)))
    const told = new Set(answers.map(({ status, text }) => `${status} ${/"code":"(\w+)"/.exec(text)?.[1]}`))
    expect(['402 PARTNER_DECLINED', '409 ORDER_BUSY']).toEqual(expect.arrayContaining([...told]))
    expect((await get(sandbox, `/orders/${id}`)).json).toMatchObject({ status: 'FUNDS_RESERVED', escrow_id: null })
    expect((await get(sandbox, `/orders/${id}/escrow`)).status).toBe(404)
    await tell(sandbox, 'DELETE', '/_providers/faults')
    const { json } = await post(sandbox, `/orders/${id}/escrow`)
    const order = (await get(sandbox, `/orders/${id}`)).json
    expect(json.escrow_id).toBe(order.escrow_id)
    expect(String(json.created_at) > String(order.created_at)).toBe(true)
  })

  test.for(['timeout_after_effect', 'error_500_after_effect', 'reset'] as const)(
    'funds an escrow once, though its answer was lost by %s, and the retry gets the one answer',
    async (mode) => {
      const id = await orderAfter(sandbox, 'escrow')
      await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode })
      const sent = { key: randomUUID() }
      const lost = await post(sandbox, `/orders/${id}/escrow/fund`, sent)
      expect(lost).toMatchObject({ status: 502, json: { error: { code: 'PROVIDER_FAILED' } } })
      expect(lost.headers.get('retry-after')).toBe('1')
      const answer = await untilAnswered(`/orders/${id}/escrow/fund`, sent)
      expect(answer.json).toMatchObject({ id, status: 'ESCROW_FUNDED' })
      expect((await post(sandbox, `/orders/${id}/escrow/fund`, sent)).text).toBe(answer.text)
      expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1 })
    },
  )

  test('creates an escrow once, also where it has forgotten the key when it is asked again', async () => {
    const honoursKeys = (honoursKeys: boolean) =>
      tell(sandbox, 'PUT', '/_providers/settings', { body: { provider: 'trustless-work', honoursKeys } })
    const id = await orderAfter(sandbox, 'reserve')
    await fault(sandbox, { provider: 'trustless-work', operation: 'create', mode: 'error_500_after_effect' })
    expect((await honoursKeys(false)).status).toBe(200)
    const sent = { key: randomUUID() }
    expect((await post(sandbox, `/orders/${id}/escrow`, sent)).status).toBe(502)
    const { escrow_id } = (await untilAnswered(`/orders/${id}/escrow`, sent)).json
    await honoursKeys(true)
    const entries = await ledger(sandbox, '?provider=trustless-work')
    expect(entries.filter(({ reference }) => reference === escrow_id)).toHaveLength(1)
  })

  test('while it is in doubt the order is ESCROW_FUNDING, and another key does not fund it a second time', async () => {
    const id = await orderAfter(sandbox, 'escrow')
    await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode: 'timeout_after_effect' })
    const first = post(sandbox, `/orders/${id}/escrow/fund`)
    await untilStatus(sandbox, `/orders/${id}`, 'ESCROW_FUNDING')
    const second = await untilAnswered(`/orders/${id}/escrow/fund`, { key: randomUUID() })
    expect(second.json.status).toBe('ESCROW_FUNDED')
    await first
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1 })
  })

  test('declines, which is an answer: it is kept, the order is as before, and another key may try again', async () => {
    const id = await orderAfter(sandbox, 'escrow')
    await fault(sandbox, { provider: 'trustless-work', operation: 'fund', mode: 'decline' })
    const sent = { key: randomUUID() }
    const declined = await post(sandbox, `/orders/${id}/escrow/fund`, sent)
    expect(declined).toMatchObject({ status: 402, json: { error: { code: 'PARTNER_DECLINED' } } })
    expect((await post(sandbox, `/orders/${id}/escrow/fund`, sent)).text).toBe(declined.text)
    expect((await get(sandbox, `/orders/${id}`)).json.status).toBe('ESCROW_CREATING')
    expect((await post(sandbox, `/orders/${id}/escrow/fund`)).json.status).toBe('ESCROW_FUNDED')
  })

  test('is asked by nobody but the resumer, once the API was killed in a release and its client has gone', async () => {
    const id = await orderAfter(sandbox, 'escrow/fund')
    const before = await centsOf(sandbox, seller)
    await fault(sandbox, { provider: 'trustless-work', operation: 'release', mode: 'slow', ms: 1_500 })
    const { pid } = await apiOf(sandbox)
    const gone = post(sandbox, `/orders/${id}/release`).catch(() => 'gone')
    await vi.waitFor(async () => expect(await escrowCalls(sandbox, id)).toMatchObject({ release: 1 }), 5_000)
    process.kill(pid, 'SIGKILL')
    expect(await gone).toBe('gone')
    await untilRestarted(sandbox, pid)
    await vi.waitFor(async () => expect((await get(sandbox, `/orders/${id}`)).json.status).toBe('RELEASED'), {
      timeout: 20_000,
      interval: 100,
    })
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1, release: 1 })
    expect((await centsOf(sandbox, seller)) - before).toBe(10_000)
  })
})

describe('Airtm, which honours none', () => {
  test('was asked for a top-up and gave no answer: the key is unknown until its webhook settles it', async () => {
    const before = await centsOf(sandbox, buyer)
    await fault(sandbox, { provider: 'airtm', operation: 'payin', mode: 'timeout_after_effect' })
    // Whoever asks Airtm what became of it hears nothing.
    await fault(sandbox, { provider: 'airtm', operation: 'lookup', mode: 'reset', times: 1_000 })
    const sent = { key: randomUUID(), body: topup }
    const lost = await post(sandbox, '/topups', sent)
    expect(lost).toMatchObject({ status: 409, json: { error: { code: 'OUTCOME_UNKNOWN' } } })
    const answer = await untilAnswered('/topups', sent)
    expect(answer.json).toMatchObject({ status: 'PENDING', confirmation_uri: expect.stringMatching(/^https:/) })
    const { topup_id } = answer.json
    await untilStatus(sandbox, `/topups/${topup_id}`, 'CONFIRMED')
    expect(await payments(sandbox, topup_id)).toHaveLength(1)
    expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)
  })

  test('is asked by a refresh as well, which ends the doubt and credits the user once', async () => {
    const before = await centsOf(sandbox, buyer)
    await fault(sandbox, { provider: 'airtm', operation: 'payin', mode: 'timeout_after_effect' })
    const sent = { key: randomUUID(), body: topup }
    expect((await post(sandbox, '/topups', sent)).status).toBe(409)
    const { topups } = (await get(sandbox, '/topups?limit=1')).json as unknown as { topups: [{ id: string }] }
    const [{ id }] = topups
    await vi.waitFor(async () => {
      const { json } = await post(sandbox, `/topups/${id}/refresh`, { key: 'none' })
      expect(json).toMatchObject({ id, status: 'CONFIRMED' })
    })
    expect((await untilAnswered('/topups', sent)).json.topup_id).toBe(id)
    expect((await centsOf(sandbox, buyer)) - before).toBe(2_500)
  })

  test('never got it: the lookup says so, and the payment is made once', async () => {
    await fault(sandbox, { provider: 'airtm', operation: 'payin', mode: 'timeout_before' })
    const sent = { key: randomUUID(), body: topup }
    expect((await post(sandbox, '/topups', sent)).status).toBe(409)
    expect(recordsOf(sandbox.dataDir, sent.key)).toMatchObject([{ status: 'unknown' }])
    const { json } = await untilAnswered('/topups', sent)
    expect(await payments(sandbox, json.topup_id)).toHaveLength(1)
  })

  test('sends a withdrawal once, though its answer was lost, and the retry hears of it', async () => {
    const { id } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
    await fault(sandbox, { provider: 'airtm', operation: 'payout', mode: 'timeout_after_effect' })
    const sent = { key: randomUUID() }
    expect((await post(sandbox, `/withdrawals/${id}/commit`, sent)).status).toBe(409)
    expect((await untilAnswered(`/withdrawals/${id}/commit`, sent)).json).toMatchObject({ id, status: 'PROCESSING' })
    await untilStatus(sandbox, `/withdrawals/${id}`, 'COMPLETED')
    expect(await payments(sandbox, id)).toHaveLength(1)
  })

  test('fails to deliver a withdrawal, or declines it: the money is its owner’s again', async () => {
    const before = await balanceOf(sandbox, buyer)
    const failing = { ...withdrawal, destination: { ref: 'fail_17' } }
    const { id } = (await post(sandbox, '/withdrawals', { body: failing })).json
    await post(sandbox, `/withdrawals/${id}/commit`)
    await untilStatus(sandbox, `/withdrawals/${id}`, 'FAILED')
    expect(await balanceOf(sandbox, buyer)).toBe(before)

    const declined = (await post(sandbox, '/withdrawals', { body: withdrawal })).json.id
    await fault(sandbox, { provider: 'airtm', operation: 'payout', mode: 'decline' })
    expect((await post(sandbox, `/withdrawals/${declined}/commit`)).status).toBe(402)
    expect((await get(sandbox, `/withdrawals/${declined}`)).json.status).toBe('FAILED')
    expect(await balanceOf(sandbox, buyer)).toBe(before)
    expect(await payments(sandbox, declined)).toEqual([])
  })
})
