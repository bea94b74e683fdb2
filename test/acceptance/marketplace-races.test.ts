import { randomUUID } from 'node:crypto'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  disputedOrder,
  escrowCalls,
  expectBalanced,
  fault,
  get,
  orderAfter,
  post,
  withdrawal,
} from '../sandbox/marketplace-client.js'
import { type Answer, acme, ask } from '../sandbox/payment-client.js'
import { tell } from '../sandbox/providers-process.js'
import { type BlackBox, onBothDatabases } from './support/black-box.js'

/** Requests that come at once, each with a key of its own: one does it, and none is told for good what was true for a moment. */

onBothDatabases((start) => {
  let sandbox: BlackBox
  beforeAll(async () => {
    sandbox = await start({ providers: 'simulated' })
  })
  afterEach(async () => {
    await tell(sandbox, 'DELETE', '/_providers/faults')
    await expectBalanced(sandbox)
  })

  interface Sent {
    readonly key: string
    readonly answer: Answer
  }

  function atOnce(times: number, path: string, body?: object): Promise<readonly Sent[]> {
    const one = async () => {
      const key = randomUUID()
      return { key, answer: await post(sandbox, path, { key, ...(body !== undefined && { body }) }) }
    }
    return Promise.all(Array.from({ length: times }, one))
  }

  const codeIn = ({ json }: Answer) => (json.error as { readonly code: string } | undefined)?.code

  /** What was answered is kept, to the letter; what was refused is not, and its key is free. */
  async function expectKept(path: string, sent: readonly Sent[], body?: object): Promise<void> {
    for (const { key, answer } of sent) {
      if (answer.status === 409) expect(await sandbox.recordsOf(key)).toEqual([])
      else {
        const again = await post(sandbox, path, { key, ...(body !== undefined && { body }) })
        expect([again.status, again.text]).toEqual([answer.status, answer.text])
        expect(again.headers.get('idempotent-replayed')).toBe('true')
      }
    }
  }

  describe('of twelve at once, where the partner declines the first, one is told so and the others find what the second did', () => {
    const paths = {
      escrow: async () => `/orders/${await orderAfter(sandbox, 'reserve')}/escrow`,
      fund: async () => `/orders/${await orderAfter(sandbox, 'escrow')}/escrow/fund`,
      release: async () => `/orders/${await orderAfter(sandbox, 'escrow/fund')}/release`,
      dispute: async () => `/orders/${await orderAfter(sandbox, 'escrow/fund')}/disputes`,
      resolve: async () => `/disputes/${(await disputedOrder(sandbox)).disputeId}/resolve`,
    }
    test.for([
      ['escrow', 'create', 201],
      ['fund', 'fund', 200],
      ['release', 'release', 200],
      ['dispute', 'dispute', 201],
      ['resolve', 'resolve', 200],
    ] as const)('to %s', async ([step, operation, done]) => {
      const path = await paths[step]()
      const body = step === 'resolve' ? { decision: 'release' } : undefined
      await fault(sandbox, { provider: 'trustless-work', operation, mode: 'decline', times: 1 })
      const sent = await atOnce(12, path, body)
      const statuses = sent.map(({ answer }) => answer.status).sort()
      expect(statuses).toEqual([...Array(done === 201 ? 10 : 11).fill(200), ...(done === 201 ? [201] : []), 402].sort())
      await expectKept(path, sent, body)
    })
  })

  test('of twelve disputes at once that are all declined, nobody is told of one, and who found the order busy may come again', async () => {
    const id = await orderAfter(sandbox, 'escrow/fund')
    await fault(sandbox, { provider: 'trustless-work', operation: 'dispute', mode: 'decline', times: 12 })
    const path = `/orders/${id}/disputes`
    const sent = await atOnce(12, path)
    for (const { answer } of sent)
      expect([
        [402, 'PARTNER_DECLINED'],
        [409, 'ORDER_BUSY'],
      ]).toContainEqual([answer.status, codeIn(answer)])
    await expectKept(path, sent)
    expect((await get(sandbox, `/orders/${id}`)).json).toMatchObject({ status: 'ESCROW_FUNDED', dispute_id: null })
  })

  test('to release and to refund one order, one is done, and the other is refused with its key left free', async () => {
    for (let times = 0; times < 8; times++) {
      const id = await orderAfter(sandbox, 'escrow/fund')
      const ends = ['release', 'refund'] as const
      const sent = await Promise.all(
        ends.map(async (end) => {
          const key = randomUUID()
          return { end, key, answer: await post(sandbox, `/orders/${id}/${end}`, { key }) }
        }),
      )
      expect(sent.map(({ answer }) => answer.status).sort()).toEqual([200, 409])
      const [won, lost] = [...sent].sort((one, other) => one.answer.status - other.answer.status)
      expect(lost && codeIn(lost.answer)).toBe(won?.end === 'release' ? 'ORDER_RELEASED' : 'ORDER_REFUNDED')
      expect(await sandbox.recordsOf(String(lost?.key))).toEqual([])
      const { release = 0, refund = 0 } = await escrowCalls(sandbox, id)
      expect(release + refund).toBe(1)
    }
  })

  test('to commit and to cancel one withdrawal, one is done, and a commit that is refused leaves its key free', async () => {
    for (let times = 0; times < 8; times++) {
      const { id } = (await post(sandbox, '/withdrawals', { body: withdrawal })).json
      const key = randomUUID()
      const [committed, cancelled] = await Promise.all([
        post(sandbox, `/withdrawals/${id}/commit`, { key }),
        ask(sandbox, `/withdrawals/${id}`, { method: 'DELETE', headers: acme }),
      ])
      expect([committed.status, cancelled.status].sort()).toEqual([200, 409])
      if (committed.status === 409) expect(await sandbox.recordsOf(key)).toEqual([])
    }
  })
})
