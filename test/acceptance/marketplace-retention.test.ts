import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import {
  disputedOrder,
  escrowCalls,
  order,
  orderAfter,
  payments,
  post,
  topup,
  withdrawal,
} from '../sandbox/marketplace-client.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'
import { days, hours, minutes, noon } from './support/times.js'

/** How long the marketplace remembers its keys. The clock is the store's, and no test waits. */

onBothDatabases((start) => {
  let sandbox: BlackBox

  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated' })
  })
  beforeEach(() => at(noon))

  const at = (ms: number) => sandbox.at(ms)

  /** Sends it at noon, just before the window ends, and just after; and says whether the last one was new. */
  async function throughWindow(path: string, windowMs: number, body?: object) {
    const sent = { key: randomUUID(), ...(body !== undefined && { body }) }
    await at(noon)
    const first = await post(sandbox, path, sent)
    expect([200, 201]).toContain(first.status)
    await at(noon + windowMs - minutes)
    const late = await post(sandbox, path, sent)
    expect([late.text, late.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    await at(noon + windowMs + minutes)
    const anew = await post(sandbox, path, sent)
    expect(anew.headers.get('idempotent-replayed')).toBeNull()
    return { first, anew }
  }

  test('keys of top-ups are remembered for 24 hours; then they are as good as new [S4-26 S4-31]', async () => {
    const { first, anew } = await throughWindow('/topups', 24 * hours, topup)
    expect(anew.status).toBe(201)
    expect(anew.json.topup_id).not.toBe(first.json.topup_id)
    for (const { json } of [first, anew]) expect(await payments(sandbox, json.topup_id)).toHaveLength(1)
  })

  test('keys of withdrawals are remembered for 24 hours, of their commits too [S4-27]', async () => {
    const { first, anew } = await throughWindow('/withdrawals', 24 * hours, withdrawal)
    expect(anew.status).toBe(201)
    expect(anew.json.withdrawal_id).not.toBe(first.json.withdrawal_id)
    const committed = await throughWindow(`/withdrawals/${first.json.id}/commit`, 24 * hours)
    expect(committed.anew.status).toBe(200)
    // The key was new, the withdrawal was not: it is paid once.
    expect(await payments(sandbox, first.json.id)).toHaveLength(1)
    expect(await payments(sandbox, anew.json.id)).toEqual([])
  })

  test('keys of orders are remembered for 7 days, of their reservation too [S4-28]', async () => {
    const { first, anew } = await throughWindow('/orders', 7 * days, order)
    expect(anew.status).toBe(201)
    expect(anew.json.id).not.toBe(first.json.id)
    const reserved = await throughWindow(`/orders/${first.json.id}/reserve`, 7 * days)
    expect(reserved.anew).toMatchObject({ status: 200, json: { status: 'FUNDS_RESERVED' } })
  })

  test('keys of escrow operations are remembered for 7 days; then the order itself says that it is done [S4-29]', async () => {
    const id = await orderAfter(sandbox, 'reserve')
    for (const step of ['escrow', 'escrow/fund', 'release']) {
      const { anew } = await throughWindow(`/orders/${id}/${step}`, 7 * days)
      expect([step, anew.status]).toEqual([step, 200])
    }
    expect(await escrowCalls(sandbox, id)).toEqual({ create: 1, fund: 1, release: 1 })
    const other = await orderAfter(sandbox, 'escrow/fund')
    const refunded = await throughWindow(`/orders/${other}/refund`, 7 * days)
    expect(refunded.anew).toMatchObject({ status: 200, json: { id: other, status: 'REFUNDED' } })
    expect(await escrowCalls(sandbox, other)).toEqual({ create: 1, fund: 1, refund: 1 })
  })

  test('keys of disputes are never forgotten: ten years on they replay, and nothing has cleaned them up [S4-30]', async () => {
    const id = await orderAfter(sandbox, 'escrow/fund')
    const opening = { key: randomUUID(), body: { reason: 'broken' } }
    const opened = await post(sandbox, `/orders/${id}/disputes`, opening)
    const resolving = { key: randomUUID(), body: { decision: 'refund' } }
    const path = `/disputes/${opened.json.dispute_id}/resolve`
    const resolved = await post(sandbox, path, resolving)
    expect([opened.status, resolved.status]).toEqual([201, 200])
    await disputedOrder(sandbox)

    await at(noon + 3_650 * days)
    await sandbox.withStore(async (store) => {
      for (let passes = 0; passes < 3; passes++) await store.reap(1_000)
    })
    for (const [where, sent, first] of [
      [`/orders/${id}/disputes`, opening, opened],
      [path, resolving, resolved],
    ] as const) {
      const late = await post(sandbox, where, sent)
      expect([late.status, late.text, late.headers.get('idempotent-replayed')]).toEqual([
        first.status,
        first.text,
        'true',
      ])
    }
  })
})
